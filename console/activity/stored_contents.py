"""The page that says what events keep of args and results, and who may see it."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from analytics.events.redaction_patterns import PatternName
from analytics.events.stored_contents import StoredContents
from console.log_pages import AuditedAdmin

PATTERN_LABELS = {
    PatternName.EMAIL: "e-mail addresses",
    PatternName.CARD: "card numbers",
    PatternName.TOKEN: "tokens, such as JSON Web Tokens",
    PatternName.KEY: "keys that begin with a known prefix, and private keys",
}


@admin.register(StoredContents)
class StoredContentsAdmin(AuditedAdmin):
    """The page of the only row."""

    audit_kind = "contents"
    empty = "Run manage.py migrate, which creates the row."
    list_display = ["kept", "seen_by", "redacted_patterns"]
    search_fields = ["seen_by"]
    fields = ["days", "seen_by", "redacted"]

    @admin.display(description="Args, results and words of searches")
    def kept(self, row: StoredContents) -> str:
        return f"kept for {row.days} day{'s' * (row.days != 1)}" if row.days else "not kept"

    @admin.display(description="What is redacted")
    def redacted_patterns(self, row: StoredContents) -> str:
        return ", ".join(PATTERN_LABELS[PatternName(name)] for name in row.redacted)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "redacted":
            return forms.MultipleChoiceField(
                label="Redact",
                required=False,
                choices=[(str(name), label) for name, label in PATTERN_LABELS.items()],
                widget=UnfoldAdminCheckboxSelectMultipleWidget(),
                help_text=db_field.help_text,
            )
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "days":
            field.help_text = f"{field.help_text} At most {settings.GATEWAY_CONTENT_DAYS} (GATEWAY_CONTENT_DAYS)."
        return field

    def get_audit_values(self, row: StoredContents) -> dict[str, Any]:
        return row.list_audit_values()
