"""The tokens that discovery saves: the goals for a catalog of a thousand ops, and the figures on the docs page."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.docs import context_cost
from registry.catalog import builder
from registry.catalog.model import FULL_VISIBILITY
from registry.files import loader

SHIPPED = loader.read_shipped_catalog()


@pytest.mark.parametrize(("index", "name", "goal"), [(0, "initial", 0.98), (1, "typical", 0.95), (2, "worst", 0.88)])
def test_discovery_saves_the_goal_share_at_a_thousand_ops(index: int, name: str, goal: float) -> None:
    cost = context_cost.compute_costs(context_cost.repeat_ops(SHIPPED, 1_000))[index]

    assert cost.name == name
    assert 1 - cost.discovered.largest / cost.injected.largest >= goal


def test_requests_of_a_turn_only_grow() -> None:
    for cost in context_cost.compute_costs(SHIPPED):
        for turn in (cost.discovered, cost.injected):
            assert turn.requests == sorted(turn.requests)


def test_repeated_ops_build_a_valid_catalog() -> None:
    catalog = builder.build_catalog("", context_cost.repeat_ops(SHIPPED, 200))

    assert len(catalog.ops) == 200
    assert "area2.onto.task.update" in catalog.ops
    assert catalog.view_for(FULL_VISIBILITY).counts["area2"] == len(SHIPPED["ops"])


def test_path_from_root_to_a_call_fits_the_token_budget() -> None:
    tokens = dict(context_cost._measure_levels(SHIPPED))["root → group → `onto.task.update` → its call and answer"]

    assert int(tokens.replace(",", "")) <= 1_500


def test_readme_repeats_the_figures_of_the_page() -> None:
    root = Path(settings.BASE_DIR)
    page, readme = ((root / name).read_text() for name in ("docs/context-cost.md", "README.md"))

    for turn, label in (("initial", "First request"), ("typical", "Largest request of a typical turn")):
        figures = re.search(rf"^\| 200 \| {turn} \| ([\d,]+) \| ([\d,]+) \|", page, re.MULTILINE)
        assert figures is not None
        assert f"| {label} with 200 ops | **{figures[1]} tokens** | {figures[2]} tokens" in readme
