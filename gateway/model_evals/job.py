"""Run eval cases through the configured model in the background, and store the result of each when it is there."""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from core import demo_data, llm
from core.background import leases
from core.background.poller import run_in_background
from core.llm import Tier
from core.text import json_text
from gateway.model_evals import conversation
from gateway.model_evals.tool_runner import EvalToolRunner
from gateway.models import ModelRun
from registry import checks
from registry.catalog import builder, cache
from registry.catalog.model import Catalog
from registry.models import EvalCase
from registry.snapshot import snapshot

LEASE = timedelta(minutes=1)
SILENT_AFTER = timedelta(minutes=10)  # without a case, a run without a lease is over: its process, of 0.1.0, has ended
State = ModelRun.State


class RunRefused(Exception):
    """The run cannot start. The message says what to do."""


def start_run(run: ModelRun, *, by: str) -> None:
    """Save a run and start it in a thread of this process. Raises RunRefused."""
    check_can_start(run)
    run.created_by, run.model = by, llm.get_endpoint(Tier(run.tier)).model.name[:200]
    run.case_count = len(choose_cases(run))
    run.holder, run.held_until = leases.create_holder(), Now() + LEASE
    run.save()
    # The thread could not see the row before.
    transaction.on_commit(lambda: run_in_background("model evals", partial(work_on, run.pk)))


def check_can_start(run: ModelRun) -> None:
    """Raise RunRefused if there is no model, no case or, for the live release, no release."""
    if not llm.is_configured():
        raise RunRefused("No model is configured. Set LLM_BASE_URL and LLM_MODEL.")
    if not choose_cases(run):
        raise RunRefused("No active eval case has this set and tag.")
    if run.target == ModelRun.Target.LIVE:
        try:
            cache.get_live_catalog()
        except cache.NoLiveRelease as error:
            raise RunRefused(str(error)) from None


def stop_run(run: ModelRun) -> bool:
    """Stop a run after the case that it works on. Return whether it was running."""
    running = ModelRun.objects.filter(pk=run.pk, state=State.RUNNING)
    return bool(running.update(state=State.STOPPED, holder="", held_until=None))


def end_lost_runs(_: datetime) -> bool:
    """End evals with a model whose process died."""
    is_lost = leases.ENDED | Q(held_until=None, updated_at__lt=Now() - SILENT_AFTER)
    while run := leases.claim(ModelRun.objects.filter(is_lost, state=State.RUNNING).order_by("pk"), LEASE):
        leases.release(run, state=State.FAILED, error="its process ended")
    return False


def choose_cases(run: ModelRun) -> list[EvalCase]:
    """Return the cases of a run: one of each op before a second one of any."""
    cases = [
        case
        for case in EvalCase.objects.filter(is_active=True).order_by("op", "request")
        if run.case_set in ("", case.case_set) and (not run.tag or run.tag in case.tags)
    ]
    seen: dict[str, int] = {}
    turns = []
    for case in cases:
        seen[case.op] = seen.get(case.op, 0) + 1
        turns.append((seen[case.op], case.op, case.request, case))
    return [case for *_, case in sorted(turns, key=lambda each: each[:3])][: run.case_limit]


def work_on(pk: int) -> None:
    """Work on the cases of a run until they are done or it is stopped."""
    run = ModelRun.objects.get(pk=pk)
    try:
        with leases.keep(run, LEASE):
            _work_on_cases(run)
    except leases.LeaseLost:
        return  # it was stopped before it began
    except Exception as error:
        # Whatever ends the thread: the row would say for a minute that it runs.
        _end(run, State.FAILED, error=type(error).__name__)
        raise
    _end(run, State.DONE)


def _work_on_cases(run: ModelRun) -> None:
    catalog = _build_draft_catalog() if run.target == ModelRun.Target.DRAFT else cache.get_live_catalog()
    row = ModelRun.objects.filter(pk=run.pk)
    row.update(version=catalog.version)
    endpoint = llm.get_endpoint(Tier(run.tier))
    for case in choose_cases(run):
        runner = EvalToolRunner(catalog, subject=demo_data.get_demo_subject(), by=run.created_by)
        done = conversation.run_case(case, catalog, runner, endpoint=endpoint)
        run.results.append(done.result)
        row.update(results=run.results, dollars=F("dollars") + done.dollars, updated_at=timezone.now())
        if not row.filter(holder=run.holder).exists():
            return  # somebody stopped it


def _end(run: ModelRun, state: ModelRun.State, *, error: str = "") -> None:
    with suppress(leases.LeaseLost):  # somebody stopped it
        leases.release(run, state=state, error=error, updated_at=timezone.now())


def _build_draft_catalog() -> Catalog:
    """Return the draft as it would be served, without the ops that no release could serve."""
    content = snapshot.snapshot_draft()
    content["ops"] = [op for op in content["ops"] if not checks.find_op_errors(op)]
    text = json_text.canonicalize(content)
    return builder.build_catalog(json_text.hash_canonical_form(text), json_text.load(text))
