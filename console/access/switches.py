"""The page of switches, and the switch actions in the lists of ops, groups and connections."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldBooleanWidget

from console.log_pages import AuditHistoryAdmin
from core.admin import base
from registry.catalog import switches
from registry.drafts import switch_service
from registry.models import Switch

FROM_PAGE = "from_page"  # in the POST of an action that was sent from the page of a row


class SwitchableMixin(base.ModelAdmin[Any]):
    """Adds actions to switch rows of a list off and on immediately."""

    action_form = base.ReasonForm
    actions = ["switch_off", "switch_on"]
    switch_kind: Switch.Kind
    switch_name: str  # the field that names a row

    @admin.action(description="Switch off now, with the reason given", permissions=["switch"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        _switch_targets(self, request, self._list_targets(queryset), is_off=True)
        return self._return_to_page(request, queryset)

    @admin.action(description="Switch on again", permissions=["switch"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        _switch_targets(self, request, self._list_targets(queryset), is_off=False)
        return self._return_to_page(request, queryset)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.change_switch")

    def explain_off(self, row: Any) -> str:
        """Return a sentence saying why a row is off; empty if it is on."""
        return switches.get_switches().explain_off(getattr(row, self.switch_name))

    @admin.display(description="Off")
    def off(self, row: Any) -> str:
        reason = self.explain_off(row)
        return format_html('<span class="ui-tag ui-tag--removed" title="{}">off</span>', reason) if reason else ""

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs.get("obj")
        if row is not None and row.pk is not None:
            name = getattr(row, self.switch_name)
            context["off_reason"] = self.explain_off(row)
            context["may_switch"] = self.has_switch_permission(request)
            context["is_switched_off"] = Switch.objects.filter(kind=self.switch_kind, name=name, is_off=True).exists()
        return super().render_change_form(request, context, *args, **kwargs)

    def _return_to_page(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Return to the page of the row if the action was sent from there; None leads to the list."""
        row = queryset.first() if FROM_PAGE in request.POST else None
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", row.pk) if row else None

    def _list_targets(self, queryset: QuerySet[Any]) -> list[tuple[str, str]]:
        return [(self.switch_kind, name) for name in queryset.values_list(self.switch_name, flat=True)]


@admin.register(Switch)
class SwitchAdmin(AuditHistoryAdmin):
    """What is or was off, why, and who switched it.

    Rows are added where the op, group or connection is chosen, and cannot be deleted: they show what was off before.
    """

    empty = "Nothing has been switched off. Ops, groups and connections are switched off on their pages, under More."
    list_display = ["name", "kind", "state", "reason", "changed_by", "changed_at"]
    list_filter = ["is_off", "kind"]
    search_fields = ["name", "reason", "changed_by"]
    fields = ["kind", "name", "is_off", "reason", "changed_by", "changed_at"]
    action_form = base.ReasonForm
    actions = ["turn_off", "turn_on"]

    def get_audit_key(self, row: Switch) -> tuple[str, str]:
        return "switch", switch_service.build_history_name(row.kind, row.name)

    @admin.display(description="State", ordering="is_off")
    def state(self, switch: Switch) -> str:
        return format_html(
            '<span class="ui-tag {}">{}</span>', *(("ui-tag--removed", "off") if switch.is_off else ("", "on"))
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the state as text to users who can only view: a tick next to "off" reads as if it were on."""
        is_view_only = obj is not None and not self.has_change_permission(request, obj)
        return ["state" if is_view_only and name == "is_off" else name for name in super().get_fields(request, obj)]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Show "off" as a plain checkbox: a green toggle reads as on."""
        if db_field.name == "is_off":
            kwargs |= {"label": "Switched off", "widget": UnfoldBooleanWidget}
            kwargs["help_text"] = "While off, it is not listed and does not run."
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["state", "changed_by", "changed_at", "kind", "name"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Switch, form: Any, change: bool) -> None:
        try:
            saved = switch_service.set_switch(
                kind=obj.kind,
                name=obj.name,
                is_off=obj.is_off,
                reason=obj.reason,
                by=str(request.user),
                at=timezone.now(),
            )
        except switch_service.AlreadySwitched:
            saved = Switch.objects.filter(kind=obj.kind, name=obj.name).first() or obj
            self.message_user(request, "Nothing changed.", messages.WARNING)
        obj.pk = saved.pk

    @admin.action(description="Switch off now, with the reason given or the last one", permissions=["change"])
    def turn_off(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        _switch_targets(self, request, list(queryset.values_list("kind", "name")), is_off=True)

    @admin.action(description="Switch on again", permissions=["change"])
    def turn_on(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        _switch_targets(self, request, list(queryset.values_list("kind", "name")), is_off=False)


def _switch_targets(model_admin: Any, request: HttpRequest, targets: list[tuple[str, str]], *, is_off: bool) -> None:
    """Switch some targets and show the result as messages."""
    switched = []
    for kind, name in targets:
        reason = request.POST.get("reason", "")
        if is_off and not reason.strip():
            reason = Switch.objects.filter(kind=kind, name=name).values_list("reason", flat=True).first() or ""
        try:
            switched.append(
                switch_service.set_switch(
                    kind=kind, name=name, is_off=is_off, reason=reason, by=str(request.user), at=timezone.now()
                )
            )
        except switch_service.AlreadySwitched as error:
            model_admin.message_user(request, f"Nothing changed: {error}.", messages.WARNING)
        except ValidationError as error:
            model_admin.message_user(request, f"{name}: {switch_service.format_error(error)}", messages.ERROR)
    if switched:
        names = ", ".join(switch.name for switch in switched)
        message = f"Switched {'off' if is_off else 'on'}: {names}. This takes effect within two seconds."
        model_admin.message_user(request, message)
