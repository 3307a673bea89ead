"""Start, stop and decide experiments, and move a guarded one from step to step.

Each change is one transaction with its audit entry, whose time divides the figures of subjects: what was before it is
never counted with what came after.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from analytics.experiments import results
from analytics.experiments.arm_plans import ArmPlan, check_plan, divide_share, name_arms
from analytics.experiments.interruptions import find_changed_release, find_live_change
from analytics.flags import LIVE, FlagKey
from analytics.rollout import assignment
from analytics.rollout.evaluation import BUCKETS
from analytics.rollout.experiments import Experiment, get_step_length
from analytics.rollout.models import Cohort, CohortRule, Flag
from audit import audit_log

KIND = "experiment"  # in the audit log
State, Decision = Experiment.State, Experiment.Decision


class ExperimentRefused(Exception):
    """The experiment cannot do this now. The message says why, and what to do instead."""


def set_shipper(ship: Callable[[str, str, str, datetime], None]) -> None:
    """Set the function that makes a release live for everyone: (version, note, by, at). Releases are above this app.

    It raises an Exception with a sentence if it cannot.
    """
    global _ship_release
    _ship_release = ship


@transaction.atomic
def create_experiment(
    experiment: Experiment, arms: Sequence[ArmPlan], rules: Sequence[CohortRule] = (), *, by: str, at: datetime
) -> Experiment:
    """Save a draft with its arms, the control first, which stay off until it starts. `rules` are unsaved.

    Raises ValidationError.
    """
    check_plan(experiment, arms)
    experiment.save()
    _add_arms(experiment, arms, rules)
    audit_log.record_change(KIND, experiment.name, None, experiment.list_audit_values(), by=by, at=at)
    return experiment


@transaction.atomic
def change_draft(
    experiment: Experiment, arms: Sequence[ArmPlan], rules: Sequence[CohortRule] = (), *, by: str, at: datetime
) -> None:
    """Save a changed draft, with its arms. `rules` are unsaved. Raises ExperimentRefused, ValidationError."""
    stored = Experiment.objects.select_for_update(of=("self",)).get(pk=experiment.pk)
    check_editable(stored)
    before = stored.list_audit_values()
    check_plan(experiment, arms)
    experiment.arms.all().delete()
    experiment.save()
    _add_arms(experiment, arms, rules)
    experiment = Experiment.objects.get(pk=experiment.pk)
    audit_log.record_change(KIND, experiment.name, before, experiment.list_audit_values(), by=by, at=at)


@transaction.atomic
def delete_draft(experiment: Experiment, *, by: str, at: datetime) -> None:
    """Delete a draft with its arms. Raises ExperimentRefused: what was measured stays."""
    experiment = _lock(experiment, State.DRAFT)
    before = experiment.list_audit_values()
    experiment.arms.all().delete()
    experiment.delete()
    audit_log.record_change(KIND, experiment.name, before, None, by=by, at=at)


def _add_arms(experiment: Experiment, arms: Sequence[ArmPlan], rules: Sequence[CohortRule]) -> None:
    for name, arm in zip(name_arms(experiment.name, len(arms)), arms, strict=True):
        cohort = Cohort(
            name=name,
            flag=experiment.flag,
            is_on=False,
            variant=arm.variant,
            weight=arm.weight,
            experiment=experiment,
            salt=experiment.name,
            note=f"Arm of the experiment {experiment.name}",
        )
        cohort.full_clean()
        cohort.save()
        for rule in rules:
            row = CohortRule(
                cohort=cohort,
                attribute=rule.attribute,
                trait=rule.trait,
                operator=rule.operator,
                values=list(rule.values),
            )
            row.full_clean()
            row.save()


@transaction.atomic
def start(experiment: Experiment, *, by: str, at: datetime) -> None:
    """Let the arms' users have their variants. Raises ExperimentRefused."""
    experiment = _lock(experiment, State.DRAFT)
    check_startable(experiment)
    before = experiment.list_audit_values()
    experiment.state, experiment.started_at = State.RUNNING, at
    if experiment.is_guarded:
        experiment.step, experiment.step_ends_at = 0, at + get_step_length(experiment)
    experiment.save()
    _place_arms(experiment)
    _record(experiment, before, by=by, at=at)


def check_startable(experiment: Experiment) -> None:
    """Raise ExperimentRefused if its flag is off, or already has one that goes step by step.

    Two would ship one after the other, and the second would take back the first. In a transaction, no other can start
    until its end.
    """
    _refuse(explain_not_startable(experiment, Flag.objects.select_for_update().get(pk=experiment.flag_id)))


def explain_not_startable(experiment: Experiment, flag: Flag | None = None) -> str:
    """Return why it cannot start now; "" if it can."""
    flag = flag or experiment.flag
    if not flag.is_on:
        return f"The flag {flag} is off: switch it on first."
    running = Experiment.objects.filter(flag=flag, state=State.RUNNING)
    other = next((each for each in running if each.is_guarded), None)
    if experiment.is_guarded and other:
        return f"{other} already goes step by step on the flag {flag}. Decide it first."
    return ""


def explain_not_startable_again(experiment: Experiment) -> str:
    """Return why an experiment with the same plan cannot start; "" if it can."""
    if experiment.state not in (State.STOPPED, State.DECIDED):
        return "It runs. Stop it first."
    changed = find_changed_release(experiment)
    return changed.reason if changed else explain_not_startable(experiment)


def explain_not_shippable(experiment: Experiment) -> str:
    """Return why no arm can be shipped; "" if one can."""
    changed = find_live_change(experiment)
    if changed is None and not any(can_serve(arm) for arm in experiment.list_arms()[1:]):
        changed = find_changed_release(experiment)
    return changed.reason if changed else ""


def can_serve(arm: Cohort) -> bool:
    """Return whether users can have what an arm has: its release may have been withdrawn."""
    return arm.flag_id != FlagKey.RELEASE or arm.variant == LIVE or assignment.is_servable(arm.variant)


@transaction.atomic
def stop(experiment: Experiment, reason: str, *, by: str, at: datetime, ended_at: datetime | None = None) -> bool:
    """Give all users what everyone else gets; return False if it does not run. Its figures end at `ended_at`."""
    try:
        experiment = _lock(experiment, State.RUNNING)
    except ExperimentRefused:
        return False
    before = experiment.list_audit_values()
    experiment.state, experiment.stopped_at = State.STOPPED, ended_at or at
    experiment.stop_reason, experiment.hold_reason, experiment.step_ends_at = reason[:500], "", None
    experiment.save()
    experiment.arms.update(is_on=False)
    _record(experiment, before, by=by, at=at, note=reason)
    return True


@transaction.atomic
def decide(
    experiment: Experiment, decision: str, note: str, *, by: str, at: datetime, arm: Cohort | None = None
) -> None:
    """Close an experiment, running or stopped: ship an arm to all its users, or drop it. Raises ExperimentRefused."""
    experiment = _lock(experiment, State.RUNNING, State.STOPPED)
    if decision not in Decision.values:
        raise ExperimentRefused("Decide ship or drop.")
    arm = arm or experiment.list_arms()[-1]
    if decision == Decision.SHIP:
        if arm.variant == experiment.list_arms()[0].variant:
            raise ExperimentRefused("This arm has what the control has: there is nothing to ship.")
        _refuse(explain_not_shippable(experiment))
        _ship(experiment, arm, note or f"Experiment {experiment.name}: {arm.name} is shipped.", by=by, at=at)
    else:
        experiment.arms.update(is_on=False)
    before = experiment.list_audit_values()
    if decision == Decision.SHIP:
        _record_override(experiment, note, by=by, at=at)
    experiment.state, experiment.decision, experiment.decided_at = State.DECIDED, decision, at
    experiment.stopped_at = experiment.stopped_at or at
    experiment.note, experiment.hold_reason, experiment.step_ends_at = note or experiment.note, "", None
    experiment.save()
    _record(experiment, before, by=by, at=at, note=note)


def _ship(experiment: Experiment, arm: Cohort, note: str, *, by: str, at: datetime) -> None:
    """Give the arm to all users that match its rules: only they have tried it. Without rules, a release goes live."""
    experiment.arms.exclude(pk=arm.pk).update(is_on=False)
    if experiment.flag_id == FlagKey.RELEASE and not arm.rules.exists():
        experiment.arms.update(is_on=False)
        try:
            _ship_release(arm.variant, note, by, at)
        except Exception as error:
            raise ExperimentRefused(f"The release cannot be made live: {error}") from error
    else:
        Cohort.objects.filter(pk=arm.pk).update(is_on=True, percentage=100, first_bucket=0)


@transaction.atomic
def advance(experiment: Experiment, *, by: str, at: datetime, note: str = "") -> None:
    """Go to the next step, or ship after the last one. Raises ExperimentRefused."""
    experiment = _lock(experiment, State.RUNNING)
    if not experiment.is_guarded:
        raise ExperimentRefused("This experiment has no steps.")
    if experiment.step + 1 >= len(experiment.steps):
        decide(experiment, Decision.SHIP, note or "All steps are done, without clear harm.", by=by, at=at)
        return
    before = experiment.list_audit_values()
    _record_override(experiment, note, by=by, at=at)
    experiment.step += 1
    experiment.step_ends_at, experiment.hold_reason = at + get_step_length(experiment), ""
    experiment.save()
    _place_arms(experiment)
    _record(experiment, before, by=by, at=at, note=note)


def _record_override(experiment: Experiment, note: str, *, by: str, at: datetime) -> None:
    """Keep that a step goes on although it has too few users for a test, or waits: its page says so ever after."""
    if not experiment.is_guarded:
        return
    is_tested = results.has_enough_users(experiment)
    if is_tested and not experiment.hold_reason:
        return
    step = {"step": experiment.step + 1, "percent": experiment.step_percent, "by": by, "at": at.isoformat()}
    step |= {"is_tested": is_tested, "reason": experiment.hold_reason, "note": note}
    experiment.overridden_steps = [*experiment.overridden_steps, step]


@transaction.atomic
def hold(experiment: Experiment, reason: str, *, by: str, at: datetime) -> bool:
    """Stay at the current step until the reason is gone or a person goes on; "" ends it. Return whether it changed."""
    try:
        experiment = _lock(experiment, State.RUNNING)
    except ExperimentRefused:
        return False
    reason = reason[:300]
    if experiment.hold_reason == reason:
        return False
    before = experiment.list_audit_values()
    experiment.hold_reason = reason
    experiment.save(update_fields=["hold_reason"])
    _record(experiment, before, by=by, at=at, note=reason)
    return True


def start_again(experiment: Experiment, *, by: str, at: datetime) -> Experiment:
    """Return a new experiment with the same plan, users and arms, started: figures of the old one do not count."""
    _refuse(explain_not_startable_again(experiment))
    base, _, number = experiment.name.rpartition("-")
    base, count = (base, int(number) + 1) if base and number.isdigit() else (experiment.name, 2)
    while Experiment.objects.filter(name=f"{base[:27]}-{count}").exists():
        count += 1
    again = Experiment.objects.get(pk=experiment.pk)
    arms = experiment.list_arms()
    rules = list(arms[0].rules.all())
    again.pk, again._state.adding, again.name = None, True, f"{base[:27]}-{count}"
    again.state, again.started_at, again.stopped_at = State.DRAFT, None, None
    again.step, again.stop_reason, again.decision, again.decided_at, again.note = 0, "", "", None, ""
    again.overridden_steps = []
    with transaction.atomic():
        create_experiment(again, [ArmPlan(arm.variant, arm.weight) for arm in arms], rules, by=by, at=at)
        again.arms.update(salt=arms[0].salt)  # the same users get the same arm
        start(again, by=by, at=at)
        if experiment.state == State.STOPPED:  # else it would wait for a decision that was made
            decide(experiment, Decision.DROP, f"Started again as {again.name}.", by=by, at=at)
    again.refresh_from_db()
    return again


def check_editable(experiment: Experiment) -> None:
    """Raise ExperimentRefused if a change of the plan would spoil what it has measured."""
    if experiment.pk and experiment.state != State.DRAFT:
        raise ExperimentRefused(
            f"{experiment.name} is {experiment.state}: a change would spoil its figures. Stop it, and start a new one."
        )


def _place_arms(experiment: Experiment) -> None:
    """Give each arm its share of the users: beside each other, or at both ends of all users, so that both can grow."""
    arms = experiment.list_arms()
    for arm in arms:
        arm.is_on = True
    if experiment.is_guarded:
        control, new = arms
        new.percentage = control.percentage = Decimal(str(experiment.step_percent))
        new.first_bucket, control.first_bucket = 0, BUCKETS - int(control.percentage * 100)
    else:
        for arm, (begin, percentage) in zip(arms, divide_share(experiment.share, arms), strict=True):
            arm.first_bucket, arm.percentage = begin, percentage
    for arm in arms:
        arm.save(update_fields=["is_on", "percentage", "first_bucket"])


def _refuse(reason: str) -> None:
    """Raise ExperimentRefused if there is a reason."""
    if reason:
        raise ExperimentRefused(reason)


def _lock(experiment: Experiment, *states: str) -> Experiment:
    current = Experiment.objects.select_for_update(of=("self",)).select_related("flag").get(pk=experiment.pk)
    if current.state not in states:
        raise ExperimentRefused(f"{current.name} is {current.get_state_display()} now. Reload the page.")
    return current


def _record(experiment: Experiment, before: dict[str, object], *, by: str, at: datetime, note: str = "") -> None:
    audit_log.record_change(KIND, experiment.name, before, experiment.list_audit_values(), by=by, at=at, note=note)


_ship_release: Callable[[str, str, str, datetime], None]
