"""Compare the outcomes of eval cases on two catalogs: hit rates, cases won and lost, and ops found instead."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from core.text import json_text
from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp
from registry.models import EvalCase

HIT_RANKS = (1, 3, 5)  # a search shows at least five ops, and the args of the first four


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What a search for a case's request shows."""

    found: tuple[str, ...]  # paths, best first
    rank: int | None  # of the first right op, from 1; None if none is shown

    def is_hit(self, limit: int) -> bool:
        """Return whether a right op is among the first."""
        return self.rank is not None and self.rank <= limit

    @property
    def hits(self) -> int:
        """At how many of HIT_RANKS it is a hit."""
        return sum(self.is_hit(limit) for limit in HIT_RANKS)


@dataclass(frozen=True, slots=True)
class EvalRun:
    """The outcomes of some cases on one catalog."""

    outcomes: Mapping[str, CaseOutcome]  # by request
    missing_ops: frozenset[str]  # expected, but not active ops of the catalog
    # Of what search reads of each active op, to see which ones are new or edited. Hashes of one process only.
    op_hashes: Mapping[str, int] = field(default_factory=dict)


class LossCause(StrEnum):
    """Why a case was lost."""

    GONE = "gone"  # no right op is active any more
    NEW = "new"  # new ops are ahead of the right one
    EDITED = "edited"  # ops that were edited are ahead of it, or it was edited itself
    NOISE = "noise"  # the same ops in another order: with other ops around, their words count more or less


class Loss(NamedTuple):
    """Why a case was lost, and the ops that it is about: those ahead, best first, or those that were edited."""

    cause: LossCause
    ops: tuple[str, ...]


def run_cases(catalog: Catalog, cases: Collection[EvalCase]) -> EvalRun:
    """Run each case with the same search that answers `tool_help`.

    The embeddings endpoint is left out: the ops of a draft have no vectors there, and a run must need no network.
    So are switches: they do not belong to a release.
    """
    view = catalog.view_for(FULL_VISIBILITY)

    def run_case(case: EvalCase) -> CaseOutcome:
        found = tuple(search.search_ops(catalog, view, case.request, use_endpoint=False).paths)
        accepted = case.accepted_ops
        rank = next((number for number, path in enumerate(found, start=1) if path in accepted), None)
        return CaseOutcome(found, rank)

    outcomes = {case.request: run_case(case) for case in cases}
    op_hashes = {path: _hash_searched_text(catalog.ops[path]) for path in view.ops}
    return EvalRun(outcomes, frozenset(case.op for case in cases) - view.ops, op_hashes)


def _hash_searched_text(op: CatalogOp) -> int:
    texts = (op.tool_name, op.summary, op.description, op.notes)
    return hash((*texts, op.keywords, op.aliases, tuple(sorted(op.arguments)), op.entity, op.action))


def hash_cases(cases: Iterable[EvalCase]) -> str:
    """Return a hash that changes whenever the outcomes of some cases may change."""
    return json_text.hash_canonically(sorted([case.request, *case.accepted_ops] for case in cases))


@dataclass(frozen=True, slots=True)
class HitRate:
    """How many cases have a right op among the first `limit` results, and how many had one before."""

    limit: int
    hits: int
    hits_before: int | None  # None: nothing to compare with
    count: int

    @property
    def rate(self) -> float:
        return self.hits / self.count

    @property
    def added_points(self) -> float | None:
        """Percentage points more than before (negative: fewer)."""
        return None if self.hits_before is None else 100 * (self.hits - self.hits_before) / self.count


@dataclass(frozen=True, slots=True)
class SetResult:
    """The hit rates of the cases of one set."""

    name: str
    count: int
    rates: tuple[HitRate, ...]  # in the order of HIT_RANKS

    @property
    def largest_loss(self) -> float:
        """The largest drop in hit rate, in percentage points; 0 if no rate fell."""
        return max((-(rate.added_points or 0) for rate in self.rates), default=0.0)


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case with its outcome, and the one before."""

    case: EvalCase
    after: CaseOutcome
    before: CaseOutcome | None
    loss: Loss | None = None  # of a lost case

    @property
    def gain(self) -> int:
        """At how many more of HIT_RANKS it is a hit than before (negative: fewer)."""
        return self.after.hits - self.before.hits if self.before else 0

    @property
    def found_instead(self) -> str:
        """The op that is shown first although it is not a right one; "" if a right one is, or none is found."""
        return "" if self.after.rank == 1 or not self.after.found else self.after.found[0]

    @property
    def is_newly_taken(self) -> bool:
        """Whether a right op was first before and no longer is."""
        return self.before is not None and self.before.rank == 1 and self.after.rank != 1


@dataclass(frozen=True, slots=True)
class TakenCases:
    """The cases of one op for which a search shows another op first."""

    op: str
    taken_by: str
    cases: tuple[ComparedCase, ...]

    @property
    def new_count(self) -> int:
        """How many of them were right before."""
        return sum(each.is_newly_taken for each in self.cases)


@dataclass(frozen=True, slots=True)
class EvalComparison:
    """The result of a run, compared with another one if there is one."""

    sets: tuple[SetResult, ...]  # those that have cases
    cases: tuple[ComparedCase, ...] = field(repr=False)
    missing_ops: tuple[str, ...]  # expected, but not active ops of the catalog

    @property
    def count(self) -> int:
        return len(self.cases)

    @property
    def won(self) -> list[ComparedCase]:
        """The cases whose right op moved into the first 1, 3 or 5, largest gain first."""
        return sorted((each for each in self.cases if each.gain > 0), key=lambda each: -each.gain)

    @property
    def lost(self) -> list[ComparedCase]:
        """The cases whose right op fell out of the first 1, 3 or 5, largest loss first."""
        return sorted((each for each in self.cases if each.gain < 0), key=lambda each: each.gain)

    @property
    def taken(self) -> list[TakenCases]:
        """Which ops are confused with each other, those with newly lost cases first, then the most frequent."""
        pairs: dict[tuple[str, str], list[ComparedCase]] = defaultdict(list)
        for each in self.cases:
            if each.found_instead:
                pairs[each.case.op, each.found_instead].append(each)
        taken = [TakenCases(op, by, tuple(cases)) for (op, by), cases in pairs.items()]
        return sorted(taken, key=lambda each: (-each.new_count, -len(each.cases), each.op, each.taken_by))

    def loses_more_than(self, margin: float) -> bool:
        """Return whether a hit rate of a set fell by more percentage points than the margin."""
        return any(each.largest_loss > margin for each in self.sets)

    def as_figures(self) -> dict[str, Any]:
        """Return {set: {"cases": count, "hits": [at 1, 3, 5], "hits_before": the same or null}} as JSON values."""
        return {
            each.name: {
                "cases": each.count,
                "hits": [rate.hits for rate in each.rates],
                "hits_before": None if each.rates[0].hits_before is None else [rate.hits_before for rate in each.rates],
            }
            for each in self.sets
        }


def compare_runs(cases: Sequence[EvalCase], after: EvalRun, before: EvalRun | None) -> EvalComparison:
    """Compare two runs of the same cases."""
    compared = tuple(_compare_case(case, after, before) for case in cases)
    sets = (
        _build_set_result(each.value, [one for one in compared if one.case.case_set == each]) for each in EvalCase.Set
    )
    return EvalComparison(tuple(each for each in sets if each.count), compared, tuple(sorted(after.missing_ops)))


def _compare_case(case: EvalCase, after: EvalRun, before: EvalRun | None) -> ComparedCase:
    outcome = after.outcomes[case.request]
    if before is None:
        return ComparedCase(case, outcome, None)
    previous = before.outcomes[case.request]
    loss = _explain_loss(case, after, before) if outcome.hits < previous.hits else None
    return ComparedCase(case, outcome, previous, loss)


def _explain_loss(case: EvalCase, after: EvalRun, before: EvalRun) -> Loss:
    outcome, previous = after.outcomes[case.request], before.outcomes[case.request]
    right = [path for path in case.accepted_ops if path in after.op_hashes]
    if not right:
        return Loss(LossCause.GONE, ())
    ahead = _list_ahead(outcome)
    if new := tuple(path for path in ahead if path not in before.op_hashes):
        return Loss(LossCause.NEW, new)
    moved = [path for path in ahead if path not in _list_ahead(previous)]
    if edited := tuple(path for path in (*moved, *right) if before.op_hashes.get(path) != after.op_hashes[path]):
        return Loss(LossCause.EDITED, edited)
    return Loss(LossCause.NOISE, tuple(moved))


def _list_ahead(outcome: CaseOutcome) -> tuple[str, ...]:
    """Return what is shown before the first right op."""
    return outcome.found if outcome.rank is None else outcome.found[: outcome.rank - 1]


def _build_set_result(name: str, cases: list[ComparedCase]) -> SetResult:
    is_compared = bool(cases) and cases[0].before is not None
    rates = (
        HitRate(
            limit,
            sum(each.after.is_hit(limit) for each in cases),
            sum(each.before.is_hit(limit) for each in cases if each.before) if is_compared else None,
            len(cases),
        )
        for limit in HIT_RANKS
    )
    return SetResult(name, len(cases), tuple(rates))
