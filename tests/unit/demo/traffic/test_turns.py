"""Generated demo turns are plausible, and the same for the same seed."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from demo.traffic.turns import (
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


def generate_turns(seed: int = 1, variant: DemoVariant = GATEWAY, number: int = 300) -> list[Any]:
    generator = TurnGenerator(seed)
    return [generator.generate_turn("ana", variant, NOON) for _ in range(number)]


def test_same_seed_gives_the_same_turns() -> None:
    assert [events for events, _ in generate_turns(1)] == [events for events, _ in generate_turns(1)]
    assert [events for events, _ in generate_turns(1)] != [events for events, _ in generate_turns(2)]


def test_calls_of_a_turn_are_in_order() -> None:
    for events, turn in generate_turns():
        times = [event["time"] for event in events]
        assert times == sorted(set(times))
        assert turn.time == (times[-1] if times else NOON)
        assert {event["turn"] for event in events} <= {turn.turn}


def test_turns_contain_every_kind_of_event() -> None:
    events = [event for events, _ in generate_turns() for event in events]

    assert {event["type"] for event in events} == {"search", "help", "exec"}
    assert {event["model"] for event in events} == {family.name for family in MODEL_FAMILIES}
    reasons = Counter(event.get("reason", "") for event in events)
    assert {"", "invalid_args", "not_found", "unknown_op"} <= set(reasons)
    failed = sum("code" in event for event in events if event["type"] == "exec")
    assert 0.03 < failed / sum(event["type"] == "exec" for event in events) < 0.4


def test_tools_of_a_turn_fit_its_surface() -> None:
    for variant, tools in ((GATEWAY, GATEWAY_TOOLS), (LEGACY, LEGACY_TOOLS)):
        for _, turn in generate_turns(variant=variant):
            assert turn.loaded == sorted(tools)
            assert set(turn.used) <= set(turn.loaded)
            assert set(turn.escalated) <= set(turn.missed)


def test_demo_ops_are_in_the_catalog_and_unknown_names_are_not(live_catalog: model.Catalog) -> None:
    assert {each.op: each.tool_name for each in OPS}.items() <= {
        op.op: op.tool_name for op in live_catalog.ops.values()
    }.items()
    assert [name for name in UNKNOWN_NAMES if live_catalog.find_op(name)] == []
