"""Actions on a release: make live, withdraw, restore. Each has a page that shows its effect and asks to confirm."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import get_text_list

from analytics.experiments import lifecycle as experiments
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.rollout import impact
from analytics.rollout.experiments import Experiment
from console import diff_view
from console.forms import MakeLiveForm, NameForm, NoteForm, RestoreForm, WithdrawForm
from core.admin import base
from registry.drafts import draft
from registry.models import Release
from registry.releases import help_diff, lifecycle, restore, stored_releases
from registry.reviews import cohort_release, guarded_release
from registry.snapshot import diff, snapshot
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import EMPTY_SNAPSHOT, Snapshot


class ReleaseActionEffect(NamedTuple):
    """What an action changes: the content before and after, and the changes between them."""

    before: Snapshot
    after: Snapshot
    changes: list[CopyChange]


class ReleaseAction:
    """An action on a release that the user confirms on its own page."""

    name: str
    link_label: str  # label of the link to its page
    title: str
    lead: str
    button: str
    permission: str
    form: type[forms.Form]
    is_permanent = False
    takes_back = False  # whether it takes its release from users
    changes_live = False  # whether its page says which users it reaches

    @property
    def url_path(self) -> str:
        """The last part of the URL of its page."""
        return self.name.replace("_", "-")

    def explain_refusal(self, release: Release) -> str:
        """Return why the action is not possible, or an empty string."""
        return ""

    def compute_effect(self, release: Release, op: str) -> ReleaseActionEffect | None:
        """Return what the action would change, or None if that cannot be shown. Raises restore.OpNotInRelease."""
        return None

    def build_form(self, release: Release, data: Any) -> forms.Form:
        """Return the form, bound to what was sent if anything was."""
        return self.form(data)

    def get_taken_back(self, release: Release) -> Release | None:
        """Return the release that the action takes from users, whose changes the draft may still have."""
        return release if self.takes_back else None

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        """Run the action and return a success message. Raises the errors of its service."""
        raise NotImplementedError


class MakeLiveAction(ReleaseAction):
    name, link_label = "make_live", "Make live"
    title, button = "Make release {} live", "Make live for everyone"
    lead = "This release replaces the live release within two seconds. The draft does not change."
    changes_live = True
    permission = "publish"
    form = MakeLiveForm

    def explain_refusal(self, release: Release) -> str:
        if release.withdrawn_at is not None:
            return f"{release.withdrawn_by} withdrew it: {release.withdrawn_reason}"
        return "This release is already live." if release.activations.filter(is_live=True).exists() else ""

    def compute_effect(self, release: Release, op: str) -> ReleaseActionEffect | None:
        live = stored_releases.get_live_release()
        return (
            _build_effect(stored_releases.load_content(live), stored_releases.load_content(release)) if live else None
        )

    def get_taken_back(self, release: Release) -> Release | None:
        return stored_releases.get_live_release()

    def build_form(self, release: Release, data: Any) -> forms.Form:
        is_new, cohorts = not release.activations.exists(), list(cohort_release.query_cohorts(release))
        initial: dict[str, Any] = {"ends_cohorts": is_new}
        if is_new:  # what was released to its first cohort is what goes live
            initial["note"] = next((cohort.note for cohort in cohorts if cohort.note), "Made live for everyone")
        live = stored_releases.get_live_release()
        is_rollback = not is_new and live is not None and release.created_at < live.created_at
        return MakeLiveForm(data, initial=initial, is_rollback=is_rollback, cohorts=[each.name for each in cohorts])

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        ended = cohort_release.make_live(
            release, ends_cohorts=data.get("ends_cohorts", False), note=data["note"], by=by, at=at
        )
        names = get_text_list([cohort.name for cohort in ended], "and")
        return f"Release {release.short_name} is live{', and ' + names + ' off' if names else ''}."


class WithdrawAction(ReleaseAction):
    name, link_label = "withdraw", "Withdraw"
    title, button = "Withdraw release {}", "Withdraw permanently"
    lead = (
        "This release will not be served again, even to clients pinned to it, and can never be live again."
        " You can still view, compare and restore it."
    )
    permission, takes_back = "publish", True
    form = WithdrawForm
    is_permanent = True

    def explain_refusal(self, release: Release) -> str:
        if release.withdrawn_at is not None:
            return f"{release.withdrawn_by} withdrew it already: {release.withdrawn_reason}"
        is_live = release.activations.filter(is_live=True).exists()
        return "This release is live. Make another release live first." if is_live else ""

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        lifecycle.withdraw_release(version=release.version, reason=data["reason"], by=by, at=at)
        return f"Release {release.short_name} is withdrawn and no longer served."


class RestoreAction(ReleaseAction):
    name, link_label = "restore", "Restore into the draft"
    title, button = "Restore release {} into the draft", "Restore into the draft"
    lead = "This changes the draft only. The live release stays until you publish. The history keeps the current draft."
    permission = "restore"
    form = RestoreForm

    def compute_effect(self, release: Release, op: str) -> ReleaseActionEffect | None:
        draft_content = snapshot.snapshot_draft()
        if not op:
            return _build_effect(draft_content, restore.load_for_draft(release, draft_content))
        op_snapshot = restore.build_op_snapshot(release, op)
        return ReleaseActionEffect(
            draft_content,
            op_snapshot,
            [each for each in diff.diff_snapshots(draft_content, op_snapshot) if each.action != "removed"],
        )

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        if op:
            restore.restore_op(release, op, by=by, at=at, seen=data["seen"])
            return f"Restored {op} from release {release.short_name} into the draft. Publish it to make it live."
        restored_changes = restore.restore_release(release, by=by, at=at, seen=data["seen"])
        counts = diff_view.format_change_counts(restored_changes)
        return f"Restored release {release.short_name} into the draft: {counts}. Publish it to make it live."


class NameAction(ReleaseAction):
    name, link_label = "name", "Name and labels"
    title, button = "Name release {}", "Save"
    lead = "Name and labels are for people; models do not read them. The audit log has their changes."
    permission = "publish"
    form = NameForm

    def build_form(self, release: Release, data: Any) -> forms.Form:
        return NameForm(data, initial={"name": release.name, "labels": release.labels})

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        lifecycle.name_release(release, name=data["name"], labels=data["labels"], by=by, at=at)
        return f"The release is now called {release.short_name}."


class DropAction(ReleaseAction):
    name, link_label = "drop", "Confirm that it was taken back"
    title, button = "Drop release {}", "Drop"
    lead = "This closes its experiment. Nobody reads the release, and the draft does not change."
    permission, takes_back = "publish", True
    form = NoteForm

    def explain_refusal(self, release: Release) -> str:
        return "" if _find_stopped(release) else "No experiment with this release waits for a decision."

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        if experiment := _find_stopped(release):
            experiments.decide(experiment, Experiment.Decision.DROP, data["note"], by=by, at=at)
        return f"Release {release.short_name} is dropped."


class ResumeAction(ReleaseAction):
    name, link_label = "resume", "Release step by step again"
    title, button = "Release {} step by step again", "Start again"
    lead = "A new experiment starts at the first step with the same users. The figures of the one before do not count."
    permission = "publish"
    form = forms.Form

    def explain_refusal(self, release: Release) -> str:
        if not (experiment := _find_stopped(release)):
            return "No experiment with this release was stopped."
        return experiments.explain_not_startable_again(experiment)

    def run_action(self, release: Release, op: str, data: Mapping[str, Any], *, by: str, at: datetime) -> str:
        if experiment := _find_stopped(release):
            experiment = experiments.start_again(experiment, by=by, at=at)
            return f"Release {release.short_name} is released to {experiment.step_percent:g}% of the users again."
        return ""


def _find_stopped(release: Release) -> Experiment | None:
    """Return the experiment that released this one step by step, if it was stopped and nobody has decided yet."""
    experiment = guarded_release.find_latest(release)
    return experiment if experiment and experiment.state == Experiment.State.STOPPED else None


RELEASE_ACTIONS: list[ReleaseAction] = [
    MakeLiveAction(),
    ResumeAction(),
    DropAction(),
    WithdrawAction(),
    RestoreAction(),
    NameAction(),
]

REFUSAL_ERRORS = (
    lifecycle.AlreadyLive,
    lifecycle.AlreadyWithdrawn,
    lifecycle.ReleaseStillLive,
    ExperimentRefused,
    draft.NothingToChange,
    draft.DraftRefused,
    draft.DraftChanged,
)


class ReleaseActionsMixin(base.ModelAdmin[Release]):
    """Adds the page of each action to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<str:version>/{action.url_path}/",
                self.admin_site.admin_view(self.action_view),
                {"action": action},
                name=f"registry_release_{action.name}",
            )
            for action in RELEASE_ACTIONS
        ]
        return [*own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    def has_restore_permission(self, request: HttpRequest) -> bool:
        return diff_view.can_write_draft(request)

    def can_run(self, request: HttpRequest, action: ReleaseAction) -> bool:
        """Return whether the user may run the action."""
        return bool(getattr(self, f"has_{action.permission}_permission")(request))

    def action_view(self, request: HttpRequest, version: str, action: ReleaseAction) -> HttpResponse:
        """Show what an action would change; on POST run it."""
        if not (self.has_view_permission(request) and self.can_run(request, action)):
            raise PermissionDenied
        release, op = diff_view.get_release_or_404(version), request.GET.get("op", "")
        form = action.build_form(release, request.POST or None)
        if request.method == "POST" and form.is_valid():
            taken_back = action.get_taken_back(release)
            if self._run_action(request, action, release, op, form):
                question = diff_view.get_question_url(request, taken_back, was_live=action.changes_live)
                return redirect(question or "admin:registry_release_changelist")
        refusal = action.explain_refusal(release)
        context = {
            "title": action.title.format(release.short_name),
            "release": release,
            "op": op,
            "action": action,
            "form": form,
            "cancel_url": _get_previous_page(request) or reverse("admin:registry_release_change", args=[release.pk]),
        }
        context |= {
            "reach": impact.measure_reach(timezone.now(), version=release.version) if action.changes_live else None
        }
        context |= {"refusal": refusal} | ({} if refusal else _build_effect_context(request, action, release, op))
        return TemplateResponse(
            request, "console/releases/release_action.html", self.admin_site.each_context(request) | context
        )

    def _run_action(
        self, request: HttpRequest, action: ReleaseAction, release: Release, op: str, form: forms.Form
    ) -> bool:
        try:
            message = action.run_action(release, op, form.cleaned_data, by=str(request.user), at=timezone.now())
        except REFUSAL_ERRORS as error:
            form.add_error(None, str(error))
            return False
        except restore.OpNotInRelease as error:
            raise Http404(str(error)) from None
        self.message_user(request, message, messages.SUCCESS)
        return True


def _get_previous_page(request: HttpRequest) -> str:
    """Return the address of the page whose link was followed; "" if it is none of the console's, or this one."""
    previous = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(previous, {request.get_host()}, require_https=request.is_secure())
    path = urlsplit(previous).path if is_own else ""
    return previous if path.startswith(reverse("admin:index")) and path != request.path else ""


def _build_effect(before: Snapshot, after: Snapshot) -> ReleaseActionEffect:
    return ReleaseActionEffect(before, after, diff.diff_snapshots(before, after))


def _build_effect_context(request: HttpRequest, action: ReleaseAction, release: Release, op: str) -> dict[str, Any]:
    try:
        effect = action.compute_effect(release, op)
    except restore.OpNotInRelease as error:
        raise Http404(str(error)) from None
    if effect is None:
        return {}
    page = Paginator(effect.changes, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
    page_differences = help_diff.build_differences(list(page), effect.before, effect.after)
    seen = snapshot.compute_version(effect.before)
    return {
        # Without the snapshots, as on the review page: a context is a reference cycle.
        "effect": effect._replace(before=EMPTY_SNAPSHOT, after=EMPTY_SNAPSHOT),
        "change_counts": diff_view.format_change_counts(effect.changes),
        "seen": seen,
        **diff_view.build_diff_context(page, page_differences),
    }
