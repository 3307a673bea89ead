"""Run eval cases on a catalog: what its search shows for each request, and at which rank the right op is."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from core.text import json_text
from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog
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


def run_cases(catalog: Catalog, cases: Collection[EvalCase]) -> EvalRun:
    """Run each case with the same search that answers `tool_help`.

    The embeddings endpoint is left out: the ops of a draft have no vectors there, and a run must need no network.
    Switches are, too: they are part of no release.
    """
    view = catalog.view_for(FULL_VISIBILITY)

    def run_case(case: EvalCase) -> CaseOutcome:
        found = tuple(search.search_ops(catalog, view, case.request, use_endpoint=False).paths)
        accepted = case.accepted_ops
        rank = next((number for number, path in enumerate(found, start=1) if path in accepted), None)
        return CaseOutcome(found, rank)

    outcomes = {case.request: run_case(case) for case in cases}
    return EvalRun(outcomes, frozenset(case.op for case in cases) - view.ops)


def hash_cases(cases: Iterable[EvalCase]) -> str:
    """Return a hash that changes whenever the outcomes of some cases may change."""
    return json_text.hash_canonically(sorted([case.request, *case.accepted_ops] for case in cases))
