"""The labelled conversations: a guard for what was reached. `make bench ARGS=selection` has the figures."""

import pytest
from django.apps import apps

from benchmarks import selection

if not apps.is_installed("workspace"):
    pytest.skip("by design: selects among the workspace's ops", allow_module_level=True)


def test_labelled_turns_have_the_tools_that_they_need() -> None:
    figures = {figure.name: figure.value for figure in selection.measure_selection()}

    assert figures["selection.complete"] >= 0.95
    assert figures["selection.reads_without_writes"] >= 0.98
    assert figures["selection.failed"] == figures["selection.held_out.failed"] == 0
    assert figures["selection.held_out.complete"] >= 0.9
    assert figures["selection.held_out.reads_without_writes"] >= 0.96
    assert figures["selection.held_out.fewer_tools"] >= 0.8
    assert figures["selection.held_out.tokens"] <= 2_500
