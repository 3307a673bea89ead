"""Actions on a release: make live, withdraw, restore. Each has a page that shows its effect and asks to confirm."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from core import desk
from registry import changes, comparison, draft, releases, restoring, snapshot
from registry.admin import showing
from registry.changes import Change
from registry.forms import MakeLiveForm, RestoreForm, WithdrawForm
from registry.models import Release


class Effect(NamedTuple):
    """What an action changes: the content before and after, and the changes between them."""

    before: dict[str, Any]
    after: dict[str, Any]
    changes: list[Change]


class Step:
    """An action on a release that the user confirms on its own page."""

    name: str
    short: str  # label of the link to its page
    title: str
    lead: str
    button: str
    permission: str
    form: type[forms.Form]
    is_for_good = False

    @property
    def address(self) -> str:
        """The last part of the URL of its page."""
        return self.name.replace("_", "-")

    def refusal(self, release: Release) -> str:
        """Return why the action is not possible, or an empty string."""
        return ""

    def effect(self, release: Release, op: str) -> Effect | None:
        """Return what the action would change, or None if that cannot be shown. Raises restoring.UnknownOp."""
        return None

    def do(self, release: Release, op: str, said: Mapping[str, Any], *, by: str, at: datetime) -> str:
        """Run the action and return a success message. Raises the errors of its service."""
        raise NotImplementedError


class MakeLive(Step):
    name, short = "make_live", "Make live"
    title, button = "Make release {} live", "Make live for everyone"
    lead = "It replaces the live release for everyone within two seconds. The draft does not change."
    permission = "publish"
    form = MakeLiveForm

    def refusal(self, release: Release) -> str:
        if release.withdrawn_at is not None:
            return f"{release.withdrawn_by} withdrew it: {release.withdrawn_reason}"
        return "This release is live already." if release.activations.filter(is_live=True).exists() else ""

    def effect(self, release: Release, op: str) -> Effect | None:
        live = releases.live()
        return _effect(releases.content(live), releases.content(release)) if live else None

    def do(self, release: Release, op: str, said: Mapping[str, Any], *, by: str, at: datetime) -> str:
        releases.activate(version=release.version, note=said["note"], by=by, at=at)
        return f"Release {release} is live."


class Withdraw(Step):
    name, short = "withdraw", "Withdraw"
    title, button = "Withdraw release {}", "Withdraw permanently"
    lead = (
        "It is no longer served, not even to clients pinned to it, and can never be live again."
        " You can still view it, compare it and restore it into the draft."
    )
    permission = "publish"
    form = WithdrawForm
    is_for_good = True

    def refusal(self, release: Release) -> str:
        if release.withdrawn_at is not None:
            return f"{release.withdrawn_by} withdrew it already: {release.withdrawn_reason}"
        is_live = release.activations.filter(is_live=True).exists()
        return "This release is live. Make another release live first." if is_live else ""

    def do(self, release: Release, op: str, said: Mapping[str, Any], *, by: str, at: datetime) -> str:
        releases.withdraw(version=release.version, reason=said["reason"], by=by, at=at)
        return f"Release {release} is withdrawn and no longer served."


class Restore(Step):
    name, short = "restore", "Restore into the draft"
    title, button = "Restore release {} into the draft", "Restore into the draft"
    lead = "This changes the draft only. The live release stays until you publish. The history keeps the current draft."
    permission = "restore"
    form = RestoreForm

    def effect(self, release: Release, op: str) -> Effect | None:
        now = snapshot.draft()
        if not op:
            return _effect(now, releases.content(release))
        wanted = restoring.op_of(release, op)
        return Effect(now, wanted, [each for each in changes.between(now, wanted) if each.action != "removed"])

    def do(self, release: Release, op: str, said: Mapping[str, Any], *, by: str, at: datetime) -> str:
        if op:
            restoring.restore_op(release, op, by=by, at=at, seen=said["seen"])
            return f"Restored {op} from release {release} into the draft. Publish it to make it live."
        found = restoring.restore(release, by=by, at=at, seen=said["seen"])
        return f"Restored release {release} into the draft: {len(found)} changes. Publish it to make it live."


STEPS: list[Step] = [MakeLive(), Withdraw(), Restore()]

REFUSALS = (
    *(releases.AlreadyLive, releases.Withdrawn, releases.IsLive),
    *(draft.NothingToDo, draft.Refused, draft.Moved),
)


class Stepping(desk.ModelAdmin[Release]):
    """Adds the page of each action to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<str:version>/{step.address}/",
                self.admin_site.admin_view(self.step_view),
                {"step": step},
                name=f"registry_release_{step.name}",
            )
            for step in STEPS
        ]
        return [*own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    def has_restore_permission(self, request: HttpRequest) -> bool:
        return showing.may_write_draft(request)

    def may(self, request: HttpRequest, step: Step) -> bool:
        """Return whether the user may run the action."""
        return bool(getattr(self, f"has_{step.permission}_permission")(request))

    def step_view(self, request: HttpRequest, version: str, step: Step) -> HttpResponse:
        """Show what an action would change; on POST run it."""
        if not (self.has_view_permission(request) and self.may(request, step)):
            raise PermissionDenied
        release, op = showing.release(version), request.GET.get("op", "")
        form = step.form(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._do(request, step, release, op, form):
            return redirect("admin:registry_release_changelist")
        refusal = step.refusal(release)
        context = {"title": step.title.format(release), "release": release, "op": op, "step": step, "form": form}
        context |= {"refusal": refusal} | ({} if refusal else _shown(request, step, release, op))
        return TemplateResponse(request, "registry/step.html", self.admin_site.each_context(request) | context)

    def _do(self, request: HttpRequest, step: Step, release: Release, op: str, form: forms.Form) -> bool:
        try:
            told = step.do(release, op, form.cleaned_data, by=str(request.user), at=timezone.now())
        except REFUSALS as error:
            form.add_error(None, str(error))
            return False
        except restoring.UnknownOp as error:
            raise Http404(str(error)) from None
        self.message_user(request, told, messages.SUCCESS)
        return True


def _effect(before: dict[str, Any], after: dict[str, Any]) -> Effect:
    return Effect(before, after, changes.between(before, after))


def _shown(request: HttpRequest, step: Step, release: Release, op: str) -> dict[str, Any]:
    try:
        effect = step.effect(release, op)
    except restoring.UnknownOp as error:
        raise Http404(str(error)) from None
    if effect is None:
        return {}
    page = Paginator(effect.changes, showing.PAGE).get_page(request.GET.get("p"))
    found = comparison.read(list(page), effect.before, effect.after)
    seen = snapshot.version(effect.before)
    return {
        "effect": effect,
        "counted": showing.counted(effect.changes),
        "seen": seen,
        **showing.differences(page, found),
    }
