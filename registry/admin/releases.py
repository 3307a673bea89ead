"""Releases and when each was live, in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from core import desk
from registry import draft, releases, restoring
from registry.admin import showing
from registry.admin.review import Reviewing
from registry.models import Activation, Release


@admin.register(Release)
class ReleaseAdmin(desk.ReadOnly, Reviewing):
    list_display = ["__str__", "live", "op_count", "created_at", "created_by", "withdrawn_reason"]
    fields = readonly_fields = (
        *("version", "live", "op_count", "created_at", "created_by"),
        *("accepted_because", "warnings", "withdrawn_at", "withdrawn_by", "withdrawn_reason"),
    )
    search_fields = ["version", "created_by", "withdrawn_reason"]
    action_form = desk.ReasonForm
    actions = ["make_live", "withdraw", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        live = Activation.objects.filter(release=OuterRef("pk"), is_live=True)
        return Release.objects.defer("content", "tokens", "accepted_warnings").annotate(live=Exists(live))

    @admin.display(boolean=True)
    def live(self, release: Any) -> bool:
        return bool(release.live)

    @admin.display(description="Accepted warnings")
    def warnings(self, release: Release) -> str:
        said = (
            (warning["op"], warning["field"], warning["message"], warning["fix"])
            for warning in release.accepted_warnings[: showing.LISTED]
        )
        listed = format_html_join("", "<div>{}, {}: {} {}</div>", said)
        left = len(release.accepted_warnings) - showing.LISTED
        return format_html("{}<div>… and {} more.</div>", listed, left) if left > 0 else listed

    @admin.action(description="Make the selected release live", permissions=["publish"])
    def make_live(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            try:
                releases.activate(
                    version=release.version, note="Made live in the admin", by=str(request.user), at=timezone.now()
                )
            except releases.AlreadyLive:
                self.message_user(request, f"Release {release} is live already.", messages.WARNING)
            except releases.Withdrawn as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                self.message_user(request, f"Release {release} is live.")

    @admin.action(description="Withdraw the selected release for good, for the reason given", permissions=["publish"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            reason = request.POST.get("reason", "")
            try:
                releases.withdraw(version=release.version, reason=reason, by=str(request.user), at=timezone.now())
            except (releases.IsLive, releases.Withdrawn) as error:
                self.message_user(request, str(error), messages.ERROR)
            except ValidationError as error:
                self.message_user(request, " ".join(error.messages), messages.ERROR)
            else:
                self.message_user(request, f"Release {release} is withdrawn: nobody is served it any more.")

    @admin.action(description="Restore the selected release into the draft", permissions=["restore"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            try:
                found = restoring.restore(release, by=str(request.user), at=timezone.now())
            except draft.NothingToDo:
                self.message_user(request, f"The draft is release {release} already.", messages.WARNING)
            except (draft.Refused, draft.Moved) as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                told = f"The draft is release {release} again: {len(found)} changes. Publish it to make it live."
                self.message_user(request, told)

    def _one(self, request: HttpRequest, queryset: QuerySet[Release]) -> Release | None:
        chosen = list(queryset[:2])
        if len(chosen) == 1:
            return chosen[0]
        self.message_user(request, "Choose one release.", messages.ERROR)
        return None

    def has_restore_permission(self, request: HttpRequest) -> bool:
        models = ("op", "group", "promptsection")
        return request.user.has_perms([f"registry.{verb}_{model}" for verb in ("add", "change") for model in models])


@admin.register(Activation)
class ActivationAdmin(desk.ReadOnly, desk.ModelAdmin[Activation]):
    list_display = ["release", "is_live", "activated_at", "activated_by", "note"]
    list_select_related = ["release"]
    search_fields = ["release__version", "note", "activated_by"]
