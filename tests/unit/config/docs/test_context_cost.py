"""The tokens that discovery saves: the goals for a catalog of a thousand ops, and the figures on the docs page."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.docs import context_cost
from registry.files import loader

SHIPPED = loader.read_shipped_catalog()


@pytest.mark.parametrize(("index", "name", "goal"), [(0, "initial", 0.98), (1, "typical", 0.95), (2, "worst", 0.88)])
def test_discovery_saves_the_goal_share_at_a_thousand_ops(index: int, name: str, goal: float) -> None:
    cost = context_cost.compute_costs(context_cost.repeat_ops(SHIPPED, 1_000))[index]

    assert cost.name == name
    assert 1 - cost.discovered.largest / cost.injected.largest >= goal


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
