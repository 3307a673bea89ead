"""Release the draft to a cohort before everyone reads it, and make the release live for everyone later."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from analytics.flags import LIVE, FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, Flag
from audit import audit_log
from audit.models import AuditEntry
from registry.evals import evaluation
from registry.models import Release
from registry.releases import lifecycle, publishing, stored_releases
from registry.releases.stored_releases import EntryKey
from registry.reviews import approval
from registry.reviews.approval import PublishableSelection

Reader = TypeVar("Reader", Cohort, Experiment)  # who reads a release first


@dataclass(frozen=True, slots=True)
class CohortPlan:
    """The cohort that reads a release first."""

    name: str
    percentage: Decimal = Decimal(0)  # of the users who are in no earlier cohort
    listed: Sequence[str] = ()  # subjects who are always in
    is_guarded: bool = True  # whether it stops automatically


class CohortRefused(Exception):
    """The draft cannot be released to this cohort. The message says why, and what to do."""


def release_draft_to_cohort(
    plan: CohortPlan,
    *,
    note: str,
    by: str,
    at: datetime,
    accepted: str = "",
    seen: str = "",
    accepted_loss: str = "",
    only: Collection[EntryKey] | None = None,
) -> tuple[Release, Cohort]:
    """Freeze the draft and let a cohort read it. A cohort that has the name already moves to the new release.

    See `publishing.publish_draft` for the other arguments and errors. Also raises ApprovalMissing, EntriesHeld and
    CohortRefused.
    """
    checked = approval.check_selection(by, seen=seen, only=only)
    _check_plan(plan)
    return release_checked(
        checked,
        lambda release: _save_cohort(plan, release, note=note, by=by, at=at),
        reader="cohort",
        note=note,
        by=by,
        at=at,
        accepted=accepted,
        accepted_loss=accepted_loss,
    )


def release_checked(
    checked: PublishableSelection,
    start: Callable[[Release], Reader],
    *,
    reader: str,
    note: str,
    by: str,
    at: datetime,
    accepted: str,
    accepted_loss: str,
) -> tuple[Release, Reader]:
    """Freeze what can be published, let `start` choose who reads it, and record that under the name `reader`.

    Freezing takes seconds for thousands of ops, so it is in no transaction. Raises CohortRefused, and the errors of
    `publishing.publish_draft`.
    """
    release = _freeze(checked, by=by, at=at, accepted=accepted, accepted_loss=accepted_loss)
    with transaction.atomic():
        started = start(release)
        changes = {reader: [None, started.name], "losses accepted because": [None, accepted_loss.strip() or None]}
        audit_log.record_action(
            "release",
            release.version,
            AuditEntry.Action.RELEASED,
            by=by,
            at=at,
            note=note,
            changes=changes | checked.audited,
        )
    checked.close_reviews(release, by=by, at=at)
    return release, started


def _freeze(checked: PublishableSelection, *, by: str, at: datetime, accepted: str, accepted_loss: str) -> Release:
    release = publishing.freeze_draft(
        by=by, at=at, accepted=accepted, seen=checked.version, accepted_loss=accepted_loss, only=checked.only
    )
    if release.withdrawn_at is not None:
        raise lifecycle.AlreadyWithdrawn(f"The draft matches release {release}, which was withdrawn. Change it.")
    if stored_releases.is_live(release.version):
        raise CohortRefused("The draft matches the live release, which everyone reads already.")
    return release


def query_cohorts(release: Release) -> QuerySet[Cohort]:
    """Return the cohorts that read a release instead of the live one."""
    return Cohort.objects.filter(flag=FlagKey.RELEASE, flag__is_on=True, is_on=True, variant=release.version)


def ship_version(version: str, note: str, by: str, at: datetime) -> None:
    """Make the release of an experiment's arm live for everyone; other cohorts stay as they are. See `make_live`."""
    make_live(Release.objects.get(version=version), ends_cohorts=False, note=note, by=by, at=at)


def make_live(release: Release, *, ends_cohorts: bool, note: str, by: str, at: datetime) -> list[Cohort]:
    """Make a release live for everyone, and switch off the cohorts that read it if wanted. Return these cohorts.

    A cohort that stayed on would keep its users on this release when the next one goes live. The eval cases run only
    for a release that was never live: a rollback must not wait.

    Raises the errors of `lifecycle.activate_release`.
    """
    compared = None
    if not release.activations.exists():
        content, live = stored_releases.load_content(release), stored_releases.get_live_release()
        compared = evaluation.compare_with_live(release.version, content, live)
    with transaction.atomic():
        lifecycle.activate_release(
            version=release.version,
            note=note,
            by=by,
            at=at,
            eval_figures=compared.as_figures() if compared else {},
        )
        cohorts = list(query_cohorts(release).select_for_update()) if ends_cohorts else []
        for cohort in cohorts:
            before = cohort.list_audit_values()
            cohort.is_on = False
            cohort.save(update_fields=["is_on"])
            audit_log.record_change("cohort", cohort.name, before, cohort.list_audit_values(), by=by, at=at, note=note)
    return cohorts


def _check_plan(plan: CohortPlan) -> None:
    """Raise CohortRefused if no cohort could be made of the plan."""
    flag = Flag.objects.get(pk=FlagKey.RELEASE)
    if not flag.is_on:
        raise CohortRefused(f"The flag {flag} is off, so no cohort is on another release. Switch it on first.")
    if not plan.percentage and not plan.listed:
        raise CohortRefused("Nobody would read it. Choose a share, or list users.")
    other = Cohort.objects.filter(name=plan.name).exclude(flag=flag).first()
    if other is not None:
        raise CohortRefused(f"{plan.name} is a cohort of {other.flag}. Choose another name.")
    planned = Cohort(name=plan.name, flag=flag, variant=LIVE, percentage=plan.percentage, listed=list(plan.listed))
    try:
        planned.full_clean(exclude=["position", "salt"], validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise CohortRefused(" ".join(error.messages)) from None


def _save_cohort(plan: CohortPlan, release: Release, *, note: str, by: str, at: datetime) -> Cohort:
    cohort = Cohort.objects.select_for_update().filter(name=plan.name, flag=FlagKey.RELEASE).first()
    before = cohort.list_audit_values() if cohort else None
    cohort = cohort or Cohort(name=plan.name, flag_id=FlagKey.RELEASE)
    cohort.variant, cohort.is_on, cohort.is_guarded = release.version, True, plan.is_guarded
    cohort.percentage, cohort.listed, cohort.note = plan.percentage, list(plan.listed), note[:300]
    try:
        with transaction.atomic():
            cohort.save()
    except IntegrityError:
        raise CohortRefused(f"Somebody else created the cohort {plan.name} just now. Choose another name.") from None
    audit_log.record_change("cohort", cohort.name, before, cohort.list_audit_values(), by=by, at=at, note=note)
    return cohort
