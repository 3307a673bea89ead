"""Tools of the legacy surface: op paths in descriptions become tool names."""

from analytics.flags import Surface
from gateway.toolset import surfaces
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import FULL_VISIBILITY
from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema


def read_note_description(description: str) -> str:
    entry = build_op_entry("demo.item.get", parameters_schema=build_schema(note={"description": description}))
    tools = surfaces.select_tools(Surface.LEGACY, build_catalog(entry), ToolsetRequest(FULL_VISIBILITY)).tools
    shown: str = tools[0].parameters["properties"]["note"]["description"]
    return shown


def test_op_paths_in_descriptions_become_tool_names() -> None:
    description = "From demo.item.get, or (demo.item.get). Not demo.item.get_all, xdemo.item.get or demo.item."

    assert read_note_description(description) == (
        "From demo_item_get, or (demo_item_get). Not demo.item.get_all, xdemo.item.get or demo.item."
    )


def test_very_long_word_in_a_description_does_not_slow_down_the_toolset() -> None:
    assert_cpu_seconds(1, lambda: read_note_description("a" * 100_000))  # the time was quadratic in its length
