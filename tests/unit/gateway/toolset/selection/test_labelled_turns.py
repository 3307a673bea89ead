"""The labelled conversations: a guard for what was reached. `make bench ARGS=selection` has the figures."""

import pytest
from django.apps import apps

from benchmarks import selection

if not apps.is_installed("workspace"):
    pytest.skip("by design: selects among the workspace's ops", allow_module_level=True)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.thorough)])
def test_labelled_turns_have_the_tools_that_they_need(every: int) -> None:
    figures = {figure.name: figure.value for figure in selection.measure_selection(every)}

    assert figures["selection.complete"] >= 0.97
    assert figures["selection.reads_without_writes"] >= 0.98
    assert figures["selection.failed"] == 0
    assert figures["selection.tokens"] <= 2_500
    assert figures["selection.fewer_tools"] >= 0.6
