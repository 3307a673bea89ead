"""Switches in the admin: a list of their own, and an action on whatever can be switched."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from core import desk
from registry import switching
from registry.models import Switch


class Switchable(desk.ModelAdmin[Any]):
    """A list whose rows can be switched off and on at once, each by its name."""

    action_form = desk.ReasonForm
    actions = ["switch_off", "switch_on"]
    switch_kind: Switch.Kind
    switch_name: str  # the field that names a row

    @admin.action(description="Switch off at once, for the reason given", permissions=["switch"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        _turn(self, request, self._targets(queryset), is_off=True)

    @admin.action(description="Switch on again", permissions=["switch"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        _turn(self, request, self._targets(queryset), is_off=False)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.change_switch")

    def _targets(self, queryset: QuerySet[Any]) -> list[tuple[str, str]]:
        return [(self.switch_kind, name) for name in queryset.values_list(self.switch_name, flat=True)]


@admin.register(Switch)
class SwitchAdmin(desk.ModelAdmin[Switch]):
    """What is off or was, why and by whom. Rows are never deleted: they say what was off before."""

    list_display = ["name", "kind", "state", "reason", "changed_by", "changed_at"]
    list_filter = ["is_off", "kind"]
    search_fields = ["name", "reason", "changed_by"]
    fields = ["kind", "name", "is_off", "reason", "changed_by", "changed_at"]
    action_form = desk.ReasonForm
    actions = ["turn_off", "turn_on"]

    @admin.display(description="State", ordering="is_off")
    def state(self, switch: Switch) -> str:
        return format_html(
            '<span class="desk-tag {}">{}</span>', *(("desk-removed", "off") if switch.is_off else ("", "on"))
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["changed_by", "changed_at", *(["kind", "name"] if obj else [])]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Switch, form: Any, change: bool) -> None:
        try:
            saved = switching.turn(
                kind=obj.kind,
                name=obj.name,
                is_off=obj.is_off,
                reason=obj.reason,
                by=str(request.user),
                at=timezone.now(),
            )
        except switching.AlreadySwitched:
            saved = Switch.objects.filter(kind=obj.kind, name=obj.name).first() or obj
            self.message_user(request, "Nothing changed.", messages.WARNING)
        obj.pk = saved.pk

    @admin.action(description="Switch off at once, for the reason given or that of before", permissions=["change"])
    def turn_off(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        _turn(self, request, list(queryset.values_list("kind", "name")), is_off=True)

    @admin.action(description="Switch on again", permissions=["change"])
    def turn_on(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        _turn(self, request, list(queryset.values_list("kind", "name")), is_off=False)


def _turn(page: Any, request: HttpRequest, targets: list[tuple[str, str]], *, is_off: bool) -> None:
    """Switch each of some targets and answer in sentences."""
    turned = []
    for kind, name in targets:
        reason = request.POST.get("reason", "")
        if is_off and not reason.strip():
            reason = Switch.objects.filter(kind=kind, name=name).values_list("reason", flat=True).first() or ""
        try:
            turned.append(
                switching.turn(
                    kind=kind, name=name, is_off=is_off, reason=reason, by=str(request.user), at=timezone.now()
                )
            )
        except switching.AlreadySwitched as error:
            page.message_user(request, f"Already so: {error}.", messages.WARNING)
        except ValidationError as error:
            page.message_user(request, f"{name}: {switching.sentence(error)}", messages.ERROR)
    if turned:
        names = ", ".join(switch.name for switch in turned)
        told = f"Switched {'off' if is_off else 'on'}: {names}. All processes follow within two seconds."
        page.message_user(request, told)
