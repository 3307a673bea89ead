"""Surfaces and discovery tools cost no more than their goals, on the shipped catalog."""

from typing import Any

import pytest

from config.docs import surface_cost
from config.docs.surface_cost import DiscoveryTurn
from registry.files import loader


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return loader.read_shipped_catalog()


@pytest.fixture(scope="module")
def turns(content: dict[str, Any]) -> dict[str, DiscoveryTurn]:
    return {turn.name: turn for turn in surface_cost.compute_discovery_turns(content)}


@pytest.mark.parametrize(
    ("name", "tokens", "saved"), [("initial", 300, 0.98), ("typical", 650, 0.95), ("wide", 1_400, 0.88)]
)
def test_discovery_costs_a_fraction_of_sending_everything(
    turns: dict[str, DiscoveryTurn], name: str, tokens: int, saved: float
) -> None:
    assert turns[name].discovered <= tokens
    assert turns[name].saved >= saved


def test_page_has_every_surface(content: dict[str, Any]) -> None:
    section = surface_cost.render_section(content)

    assert all(f"| `{surface}` |" in section for surface in ("gateway", "hybrid", "native", "discovery", "legacy"))
