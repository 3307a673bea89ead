"""The admin page of subjects: the users seen lately."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from analytics.models import Subject
from core.admin import base


@admin.register(Subject)
class SubjectAdmin(base.ReadOnlyMixin, base.ModelAdmin[Subject]):
    empty = "No users seen yet. A user appears once a chat service asks for a toolset or makes a call for them."
    list_display = ["subject", "seen_at", "client", "environment", "context", "model", "variants_link"]
    list_filter = ["client", "environment", "context"]
    search_fields = ["subject"]
    show_full_result_count = False

    @admin.display(description="variants")
    def variants_link(self, row: Subject) -> str:
        """Link to the page that explains the user's variants."""
        explainer_url = f"{reverse('admin:rollout_who')}?{urlencode({'subject': row.subject})}"
        return format_html('<a href="{}">Who gets this?</a>', explainer_url)
