"""Pages of clients and API keys. A key is shown once, on the page that answers its creation.

Not in a message: messages travel in a cookie or are stored in the session.
"""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from console.log_pages import AuditedAdmin
from gateway.access import api_keys
from gateway.data_flow.rules import GATEWAY_RULES, BadRule, format_rules, parse_rules
from gateway.models import ApiKey, Client, Scope

AUDITED_CLIENT_FIELDS = (
    "name",
    "subject_pattern",
    "op_patterns",
    "confirms",
    "data_flow",
    "data_flow_rules",
    "is_active",
)
ROTATION_OVERLAP = timedelta(hours=24)
LEAST_SCOPES = [Scope.HELP, Scope.EXEC_READ]
# What keys are usually for, the least first: (label, scopes).
SCOPE_PRESETS = (
    ("Read only", LEAST_SCOPES),
    ("Chat service", [*LEAST_SCOPES, Scope.EXEC_WRITE, Scope.BATCH, Scope.TOOLSET]),
    ("Everything", list(Scope.values)),
)
# A request that each of these scopes allows, below the address of the API, the first that a key has.
FIRST_REQUESTS = {Scope.HELP: "help", Scope.REPORTS: "reports/overview", Scope.EVENTS: "events"}
MAX_KEYS = 50  # on a client's page


@admin.register(Client)
class ClientAdmin(AuditedAdmin):
    audit_kind = "client"
    empty = "A client is a service that calls for end users. Add a client, then add a key for it."
    list_display = ["name", "is_active", "subject_pattern", "allowed_ops", "created_at"]
    search_fields = ["name"]
    go_to_order = 4
    line_lists = {"op_patterns": 200}
    change_form_template = "console/access/client_form.html"

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Refuse rules of data flow that cannot be read, and show those of the gateway as an example."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "data_flow_rules" and field is not None:
            field.validators.append(_validate_flow_rules)
            field.widget.attrs |= {"placeholder": format_rules(GATEWAY_RULES), "rows": 4}
        return field

    @admin.display(description="ops")
    def allowed_ops(self, client: Client) -> str:
        return "all ops" if client.op_patterns == ["*"] else ", ".join(client.op_patterns)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the client's keys, the usable ones first."""
        if (client := kwargs.get("obj")) and request.user.has_perm("gateway.view_apikey"):
            keys = client.keys.order_by(F("revoked_at").desc(nulls_first=True), "-created_at")
            context["keys"] = list(keys[:MAX_KEYS])
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(self, request: HttpRequest, obj: Client, post_url_continue: str | None = None) -> HttpResponse:
        """Lead to the form of its first key: without one, nothing can call for the client."""
        if not request.user.has_perm("gateway.add_apikey"):
            self.message_user(request, f"The client {obj} is added.", messages.SUCCESS)
            return redirect("admin:gateway_client_change", obj.pk)
        self.message_user(request, f"The client {obj} is added. Now add its first key.", messages.SUCCESS)
        return redirect(f"{reverse('admin:gateway_apikey_add')}?client={obj.pk}")

    def get_audit_values(self, row: Client) -> dict[str, Any]:
        return {name: getattr(row, name) for name in AUDITED_CLIENT_FIELDS}


@admin.register(ApiKey)
class ApiKeyAdmin(AuditedAdmin):
    audit_kind = "api_key"
    empty = "Nobody can call the API yet. Add a key for a client; the key is shown once, right after you save."
    list_display = ["prefix", "client", "name", "subject", "rate", "expires_at", "revoked_at", "last_used_at"]
    list_filter = ["client", ("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["client"]
    search_fields = ["prefix", "name", "client__name", "subject"]
    readonly_fields = ["prefix", "created_at", "created_by", "revoked_at", "rotated_from", "last_used_at"]
    actions = ["rotate", "revoke"]
    change_form_template = "console/access/api_key_form.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["scope_presets"] = SCOPE_PRESETS
        return super().render_change_form(request, context, *args, **kwargs)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """Return what can be entered, and for a key that exists also what happened to it."""
        entered = ["client", "name", "scopes", "subject", "rate", "expires_at"]
        return entered if obj is None else [*entered, *self.readonly_fields]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Show the scopes as checkboxes: there are only a few."""
        if db_field.name == "scopes":
            widget = UnfoldAdminCheckboxSelectMultipleWidget()
            return forms.MultipleChoiceField(choices=Scope.choices, widget=widget, initial=LEAST_SCOPES)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        # The service records the key in the audit log. save_related records nothing, because nothing changes after it.
        api_key, plaintext = api_keys.issue(
            client=obj.client,
            by=str(request.user),
            name=obj.name,
            subject=obj.subject,
            scopes=obj.scopes,
            rate=obj.rate,
            expires_at=obj.expires_at,
        )
        obj.pk, obj.prefix = api_key.pk, api_key.prefix
        obj.plaintext = plaintext  # type: ignore[attr-defined]  # for response_add, and stored nowhere
        vars(request)["audited_before"] = self.get_audit_values(api_key)

    def get_audit_name(self, row: ApiKey) -> str:
        return api_keys.get_audit_name(row)

    def get_audit_values(self, row: ApiKey) -> dict[str, Any]:
        return api_keys.get_audit_values(row)

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the new key, whichever button saved it."""
        return self._show_keys(request, [(obj, obj.plaintext)])  # type: ignore[attr-defined]

    @admin.action(description="Rotate: create new keys; old keys work for 24 more hours", permissions=["rotate"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse | None:
        new_keys = []
        for key in queryset.filter(revoked_at=None).select_related("client"):
            try:
                by, at = str(request.user), timezone.now()
                new_keys.append(api_keys.rotate(key, by=by, at=at, overlap=ROTATION_OVERLAP))
            except api_keys.SubjectNotAllowed as error:
                self.message_user(request, f"{key} is bound to {key.subject}: {error}", messages.ERROR)
        return self._show_keys(request, new_keys) if new_keys else None

    @admin.action(description="Revoke: keys stop working within 2 seconds", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset.filter(revoked_at=None):
            api_keys.revoke(key, by=str(request.user), at=timezone.now())
            self.message_user(request, f"Revoked {key}.")

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        """Require both permissions: rotating shows a new key, like adding one, and changes the old key's expiry."""
        return self.has_add_permission(request) and self.has_change_permission(request)

    def _show_keys(self, request: HttpRequest, keys: list[tuple[ApiKey, str]]) -> HttpResponse:
        title = "New API key" if len(keys) == 1 else "New API keys"
        context: dict[str, Any] = {**admin.site.each_context(request), "title": title, "opts": ApiKey._meta}
        api_url = f"{settings.GATEWAY_URL or request.build_absolute_uri('/').rstrip('/')}/api/v1"
        context["keys"] = [(key, plaintext, _build_first_request(key, plaintext, api_url)) for key, plaintext in keys]
        return TemplateResponse(request, "console/access/new_keys.html", context)


def _validate_flow_rules(text: str) -> None:
    try:
        parse_rules(text)
    except BadRule as error:
        raise ValidationError(str(error)) from None


def _build_first_request(key: ApiKey, plaintext: str, api_url: str) -> str:
    """Return a command that uses the key; "" if none of its scopes has a request without a body."""
    path = next((path for scope, path in FIRST_REQUESTS.items() if scope in key.scopes), "")
    return f'curl -s "{api_url}/{path}" -H "Authorization: Bearer {plaintext}"' if path else ""
