"""Evaluate the draft and releases with the active eval cases. Runs are kept in memory: releases never change."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.conf import settings

from core.text import json_text
from registry import checks
from registry.catalog import builder, cache
from registry.catalog.model import Catalog
from registry.evals import comparison
from registry.evals.comparison import EvalComparison, EvalRun, hash_cases, run_cases
from registry.models import EvalCase, Release
from registry.snapshot import snapshot
from registry.snapshot.entries import OpEntry, Snapshot

RUNS_KEPT = 8


def list_active_cases() -> list[EvalCase]:
    """Return the cases to run."""
    return list(EvalCase.objects.filter(is_active=True).defer("args", "note", "shipped"))


def compare_with_live(
    version: str, content: Snapshot, live: Release | None, *, blocked: Collection[str] = ()
) -> EvalComparison | None:
    """Compare a draft's content with the live release; None without active cases.

    `version` is the version that it would have. `blocked` are the ops that no release could serve.
    """
    cases = list_active_cases()
    if not cases:
        return None
    after = run_on_content(version, content, cases, blocked=blocked)
    return comparison.compare_runs(cases, after, run_on_release(live, cases) if live else None)


def compare_op_edit(entry: OpEntry) -> EvalComparison | None:
    """Compare the draft after replacing one op's entry, by path, with the current draft; None without active cases.

    Entries that no release could serve are left out.
    """
    cases = list_active_cases()
    if not cases:
        return None
    content = snapshot.snapshot_draft()
    edited: Snapshot = {**content, "ops": [entry if op["op"] == entry["op"] else op for op in content["ops"]]}
    return comparison.compare_runs(cases, _run_on_unchecked(edited, cases), _run_on_unchecked(content, cases))


def exceeds_margin(compared: EvalComparison | None) -> bool:
    """Return whether publishing needs a reason: a hit rate falls by more than GATEWAY_EVAL_MARGIN."""
    return compared is not None and compared.loses_more_than(settings.GATEWAY_EVAL_MARGIN)


def run_on_content(
    version: str, content: Snapshot, cases: Sequence[EvalCase], *, blocked: Collection[str] = ()
) -> EvalRun:
    """Run cases on the content of a draft, without the ops that no release could serve."""

    def build() -> Catalog:
        return builder.build_catalog(
            version, {**content, "ops": [op for op in content["ops"] if op["op"] not in blocked]}
        )

    return _get_or_run((version, frozenset(blocked)), cases, build)


def run_on_draft(cases: Sequence[EvalCase], content: Snapshot | None = None) -> EvalRun:
    """Run cases on the draft, or on some of its changes, without the ops that no release could serve."""
    return _run_on_unchecked(content or snapshot.snapshot_draft(), cases)


def _run_on_unchecked(content: Snapshot, cases: Sequence[EvalCase]) -> EvalRun:
    blocked = {op["op"] for op in content["ops"] if checks.find_op_errors(op)}
    try:
        version = json_text.hash_canonically(content)
    except ValueError:  # a blocked op has a value that no release can store
        version = json_text.hash_canonically([op for op in content["ops"] if op["op"] not in blocked])
    return run_on_content(version, content, cases, blocked=blocked)


def run_on_release(release: Release, cases: Sequence[EvalCase]) -> EvalRun:
    """Run cases on a release, which may be withdrawn."""

    def build() -> Catalog:
        if cache.is_loaded(release.version):
            return cache.get_catalog(release.version)
        return builder.build_catalog(release.version, json_text.load(release.content))

    return _get_or_run((release.version, frozenset()), cases, build)


def _get_or_run(key: Any, cases: Sequence[EvalCase], build: Callable[[], Catalog]) -> EvalRun:
    key = (key, hash_cases(cases))
    run = _runs.get(key)
    if run is None:
        run = _runs[key] = run_cases(build(), cases)
        while len(_runs) > RUNS_KEPT:
            _runs.pop(next(iter(_runs)), None)
    return run


_runs: dict[Any, EvalRun] = {}  # oldest first
