"""Turns that nobody had: believable ones, and the same of the same seed."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from gateway.demo.turns import (
    GATEWAY_TOOLS,
    LEGACY_TOOLS,
    MODEL_FAMILIES,
    OPS,
    UNKNOWN_NAMES,
    DemoVariant,
    TurnGenerator,
)
from registry.catalog import model

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
GATEWAY = DemoVariant(
    "copy-b", "gateway", "b" * 64, failure_rate=0.1, repair_rate=0.8, unknown_name_rate=0.05, loop_rate=0.01
)
LEGACY = DemoVariant("", "legacy", "b" * 64, failure_rate=0.1, repair_rate=0.8, unknown_name_rate=0.05, loop_rate=0.01)


def turns(seed: int = 1, served: DemoVariant = GATEWAY, number: int = 300) -> list[Any]:
    writer = TurnGenerator(seed)
    return [writer.generate_turn("ana", served, NOON) for _ in range(number)]


def test_same_seed_gives_the_same_turns() -> None:
    assert [events for events, _ in turns(1)] == [events for events, _ in turns(1)]
    assert [events for events, _ in turns(1)] != [events for events, _ in turns(2)]


def test_calls_of_a_turn_come_one_after_the_other() -> None:
    for events, told in turns():
        times = [event["time"] for event in events]
        assert times == sorted(set(times))
        assert told.time == (times[-1] if times else NOON)
        assert {event["turn"] for event in events} <= {told.turn}


def test_some_of_everything_happens() -> None:
    events = [event for events, _ in turns() for event in events]

    assert {event["type"] for event in events} == {"search", "help", "exec"}
    assert {event["model"] for event in events} == {family.name for family in MODEL_FAMILIES}
    reasons = Counter(event.get("reason", "") for event in events)
    assert {"", "invalid_args", "not_found", "unknown_op"} <= set(reasons)
    failed = sum("code" in event for event in events if event["type"] == "exec")
    assert 0.03 < failed / sum(event["type"] == "exec" for event in events) < 0.4


def test_what_is_told_of_a_turn_fits_its_surface() -> None:
    for served, tools in ((GATEWAY, GATEWAY_TOOLS), (LEGACY, LEGACY_TOOLS)):
        for _, told in turns(served=served):
            assert told.loaded == sorted(tools)
            assert set(told.used) <= set(told.loaded)
            assert set(told.escalated) <= set(told.missed)


def test_ops_are_those_of_the_catalog(live_catalog: model.Catalog) -> None:
    assert {each.op: each.tool_name for each in OPS}.items() <= {
        op.op: op.tool_name for op in live_catalog.ops.values()
    }.items()


def test_names_that_nothing_has_are_no_names_of_the_catalog(live_catalog: model.Catalog) -> None:
    assert [name for name in UNKNOWN_NAMES if live_catalog.find_op(name)] == []
