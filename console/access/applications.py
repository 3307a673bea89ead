"""Pages of applications that sign in over OAuth. Tokens, codes and secrets are on no page."""

from typing import Any

import oauth2_provider.admin  # noqa: F401 - registers its own pages, before they are taken away below
from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, IDToken, RefreshToken

from console.log_pages import AuditedAdmin
from core.admin import base
from gateway.models import SignedInApplication
from gateway.oauth import sign_ins
from gateway.oauth.client_documents import find_redirect_problem

admin.site.unregister([AccessToken, Application, Grant, IDToken, RefreshToken])

# Not "application", which says little in the sidebar.
Application._meta.verbose_name, Application._meta.verbose_name_plural = "OAuth application", "OAuth applications"


class ApplicationForm(forms.ModelForm[Application]):
    """Requires a name and redirect URIs: nobody can sign in without them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "redirect_uris"):
            if name in self.fields:  # users who can only view have no fields
                self.fields[name].required = True

    def clean_redirect_uris(self) -> str:
        """Return the URIs, one a line. Raises ValidationError for one that a browser must not open."""
        uris: list[str] = self.cleaned_data["redirect_uris"].split()
        if problems := [problem for uri in uris if (problem := find_redirect_problem(uri))]:
            raise ValidationError(problems)
        return "\n".join(uris)


@admin.register(Application)
class ApplicationAdmin(AuditedAdmin):
    audit_kind = "oauth_app"
    empty = "Most applications describe themselves when a user connects them. Add those that cannot."
    form = ApplicationForm
    list_display = ["name", "client_id", "registration_source", "created"]
    list_filter = ["registration_source"]
    search_fields = ["name", "client_id"]
    fields = ["name", "client_id", "redirect_uris", "registration_source", "created"]
    readonly_fields = ["client_id", "registration_source", "created"]
    ordering = ["name", "pk"]

    def save_model(self, request: HttpRequest, obj: Application, form: Any, change: bool) -> None:
        """Save it as a public application. It gets no secret: it proves with PKCE that it began the sign-in."""
        if not change:
            obj.client_type = Application.CLIENT_PUBLIC
            obj.authorization_grant_type = Application.GRANT_AUTHORIZATION_CODE
        super().save_model(request, obj, form, change)

    def get_audit_values(self, row: Application) -> dict[str, Any]:
        return {"name": row.name, "client_id": row.client_id, "redirect_uris": row.redirect_uris}


@admin.register(SignedInApplication)
class SignedInApplicationAdmin(base.ReadOnlyMixin, base.ModelAdmin[SignedInApplication]):
    empty = "No applications yet. One appears here when a user connects it to the gateway."
    list_display = ["user", "application", "key", "created_at", "last_used_at", "revoked_at"]
    list_filter = ["application"]
    list_select_related = ["user", "application", "key"]
    search_fields = ["user__username", "application__name", "key__prefix", "key__subject"]
    fields = ["user", "application", "key", "created_at", "last_used_at", "revoked_at"]
    actions = ["revoke"]

    @admin.action(description="Revoke: sign the application out immediately", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[SignedInApplication]) -> None:
        for link in queryset:
            sign_ins.end_access(link, by=str(request.user), at=timezone.now())
            self.message_user(request, f"Revoked {link}.")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Require the permission to revoke API keys."""
        return request.user.has_perm("gateway.change_apikey")

    @admin.display(description="Last used", ordering="key__last_used_at")
    def last_used_at(self, link: SignedInApplication) -> Any:
        return link.key.last_used_at

    @admin.display(description="Revoked", ordering="key__revoked_at")
    def revoked_at(self, link: SignedInApplication) -> Any:
        return link.key.revoked_at
