"""The layers of a prompt, the place in the application, and the turns that a prompt is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from chat.context import budgets
from core.text import token_budget

TOOLS = "tools"
PROJECT, TASK, CALENDAR, GLOBAL = "project", "task", "calendar", "global"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. If the budget is 0, there is none."""

    name: str
    text: str
    tokens: int
    budget: int
    is_cut: bool

    @classmethod
    def of_text(cls, name: str, text: str, *, budget: int, is_cut: bool = False) -> "Layer":
        """Return the layer of a text, with its tokens counted."""
        return cls(name, text, token_budget.count(text), budget, is_cut)

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the layer."""
        return {"name": self.name, "tokens": self.tokens, "budget": self.budget, "cut": self.is_cut}


@dataclass(frozen=True, slots=True)
class Context:
    """The layers of the model's system message, the tool definitions, and the names of the rows that were loaded.

    `tools` has no text: the definitions are sent separately from the messages.
    """

    layers: tuple[Layer, ...]
    names: Mapping[str, str]
    tools: Layer
    zone: ZoneInfo  # the user's

    @property
    def system_message(self) -> str:
        """The text of the model's system message: all layers that are not empty."""
        return "\n\n".join(layer.text for layer in self.layers if layer.text)

    def describe(self) -> list[dict[str, Any]]:
        """Return name, tokens and budget of each layer, and whether it was cut. The tool definitions come last."""
        return [layer.describe() for layer in (*self.layers, self.tools)]


def measure_tools(toolset: Mapping[str, Any]) -> Layer:
    """Return the layer of the tool definitions. The gateway counts the prompt with them, which the system layer has."""
    size = max(0, int(toolset.get("tokens", 0)) - token_budget.count(toolset.get("prompt", "")))
    return Layer(TOOLS, "", size, _get_tools_budget(toolset), is_cut=False)


def _get_tools_budget(toolset: Mapping[str, Any]) -> int:
    """Return the budget of the definitions: if tools are selected for each message, it is the gateway's setting."""
    if toolset.get("surface") == "gateway":
        return budgets.GATEWAY_TOOLS
    selection = toolset.get("selection") or {}
    is_selected = selection.get("kind") == "dynamic" and selection.get("mode") != "default"
    # The chat has the gateway's settings. A failed selection shows every tool of the place, however many tokens they
    # take.
    return int(settings.GATEWAY_SELECTION_TOKENS) if is_selected else 0


@dataclass(frozen=True, slots=True)
class Place:
    """The page from which the user writes: a project, a task, the calendar, or none of these."""

    type: str
    project_id: str | None = None
    entity_id: str | None = None  # of the task, if the type is task


@dataclass(frozen=True, slots=True)
class PastCall:
    """One call of a tool. If that is not shown any more, it is told as a text: `told_as` says in words what it was."""

    id: str
    name: str  # of the tool
    arguments: str  # JSON text, as the model sent it
    result: str  # JSON text
    told_as: str = ""


@dataclass(frozen=True, slots=True)
class PastStep:
    """One round of the model: what it said, and the calls it made."""

    text: str
    calls: tuple[PastCall, ...]


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What the user wrote, the rounds with calls, and the answer. A turn that only continues one has no user text."""

    user_text: str | None
    steps: tuple[PastStep, ...]
    answer: str
