"""The shipped cases cover the shipped catalog, in two sets, and the catalog finds as many of them as when written."""

import pytest

from registry.catalog import builder
from registry.evals import case_store, comparison
from registry.evals.case_store import set_fields
from registry.evals.comparison import run_cases
from registry.files import loader
from registry.models import EvalCase

CATALOG = builder.build_catalog("0" * 64, loader.read_shipped_catalog())
CASES = [set_fields(EvalCase(), entry) for entry in case_store.read_shipped_cases()]


def test_each_op_has_a_case_in_each_set() -> None:
    active = {path for path, op in CATALOG.ops.items() if op.is_active}

    for case_set in EvalCase.Set:
        assert {case.op for case in CASES if case.case_set == case_set} >= active
    assert {path for case in CASES for path in case.accepted_ops} <= active
    assert len(CASES) >= 150


# A few cases less than found when they were written, so that small changes of search need no new figures here.
@pytest.mark.parametrize(("case_set", "rates"), [("tuned", (0.52, 0.75, 0.82)), ("held_back", (0.37, 0.58, 0.71))])
def test_the_shipped_catalog_finds_its_cases(case_set: str, rates: tuple[float, ...]) -> None:
    compared = comparison.compare_runs(CASES, run_cases(CATALOG, CASES), None)

    [result] = [each for each in compared.sets if each.name == case_set]
    assert all(rate.rate >= least for rate, least in zip(result.rates, rates, strict=True)), result.rates
