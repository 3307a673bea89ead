"""Surfaces and discovery tools cost no more than their goals, on the shipped catalog."""

from config.docs import surface_cost
from registry.files import loader

GOALS = {"initial": (300, 0.98), "typical": (730, 0.95), "wide": (1_400, 0.88)}  # tokens, share saved


def test_discovery_costs_a_fraction_of_sending_everything() -> None:
    turns = {turn.name: turn for turn in surface_cost.compute_discovery_turns(loader.read_shipped_catalog())}

    for name, (tokens, saved) in GOALS.items():
        assert turns[name].discovered <= tokens, name
        assert turns[name].saved >= saved, name
