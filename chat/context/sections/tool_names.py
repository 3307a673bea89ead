"""How the model calls an op on its surface. Texts name only what the surface shows."""

from collections.abc import Mapping
from typing import Any

from chat.context.shortening.json_text import dump

EXEC_TOOL = "tool_exec"
SURFACES_WITH_PATHS = {"gateway", "hybrid"}  # where tool_exec takes the path of any op
READ_ON = {"get": "a get", "list": "a list"}  # in words, where the surface does not show the tool


class ToolNames:
    """The tools of a toolset, in any provider's format."""

    def __init__(self, toolset: Mapping[str, Any]) -> None:
        self._shown = shown = {_get_name(tool) for tool in toolset.get("tools") or ()}
        self._tool_by_op = {
            each["op"]: name for name, each in (toolset.get("ops") or {}).items() if name in shown and "op" in each
        }
        self._runs_paths = EXEC_TOOL in shown and toolset.get("surface") in SURFACES_WITH_PATHS
        self._runs_tool_names = EXEC_TOOL in shown and toolset.get("surface") not in SURFACES_WITH_PATHS

    def shows(self, name: str) -> bool:
        """Return whether the model is shown a tool."""
        return name in self._shown

    def runs(self, op: str) -> bool:
        """Return whether tool_exec is shown and takes an op by this name: its path, or on discovery its tool's name."""
        return self._runs_paths if "." in op else self._runs_tool_names

    def find_tool(self, op: str) -> str | None:
        """Return the name of the tool that runs an op, None if it is not shown."""
        return self._tool_by_op.get(op)

    def find(self, op: str) -> str | None:
        """Return what the model calls an op by: the name of its tool, else its path; None if neither is shown."""
        return self._tool_by_op.get(op) or (op if self._runs_paths else None)

    def describe(self, op: str) -> str:
        """Return that name, or what the op does in words."""
        return self.find(op) or READ_ON.get(op.rpartition(".")[2], "a call")

    def show_call(self, op: str, args: Mapping[str, Any]) -> str | None:
        """Return a call of an op as an example; None if the surface does not show how to call it."""
        if op in self._tool_by_op:
            return f"{self._tool_by_op[op]} {dump(args)}"
        return f"{EXEC_TOOL} {dump({'op': op, 'args': args})}" if self._runs_paths else None


def _get_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else tool.get("name", ""))
