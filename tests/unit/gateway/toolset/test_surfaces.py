"""Tools of the legacy surface: which ones fit, and tool names for the op paths in descriptions."""

from analytics.flags import Surface
from gateway.toolset import shown_ops, surfaces
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


def test_too_many_tools_leave_out_those_of_services_before_the_gateways_own() -> None:
    imported = [
        build_op_entry(f"crm.row{number:03}.{action}", action=action, connection="crm")
        for number in range(shown_ops.MAX_TOOLS // 2)
        for action in ("archive", "list")
    ]
    own = [build_op_entry(f"onto.task.{action}", action=action, connection="workspace") for action in ("move", "list")]
    shown = surfaces.select_tools(Surface.LEGACY, build_catalog(*imported, *own), ToolsetRequest(FULL_VISIBILITY))

    names = [tool.name for tool in shown.tools]
    assert len(names) == shown_ops.MAX_TOOLS
    assert names[:3] == ["onto_task_list", "onto_task_move", "crm_row000_list"]
    assert shown.left_out == ("crm_row062_archive", "crm_row063_archive")
