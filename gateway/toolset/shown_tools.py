"""What a surface shows: tools independent of a provider's format, and the request that they are chosen for."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from analytics.rollout.evaluation import get_model_family
from gateway.access.request_context import Caller, UserContext
from gateway.toolset.conversation import EMPTY_CONVERSATION, ToolsetConversation
from registry.catalog.model import CatalogOp, Visibility
from registry.help.typed_tools import TypedTool, fill_nulls
from registry.jsonschema.dialect import Schema


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool as shown to a model.

    `is_deferred`: the provider shows it only once a search has found it. `is_search`: it is that search. `op` is None
    for the gateway's own tools. `strict_parameters` is the schema for providers with a strict mode, if it has one.
    """

    name: str
    description: str
    parameters: Schema
    op: CatalogOp | None = None
    strict_parameters: dict[str, Any] | None = None
    is_deferred: bool = False
    is_search: bool = False
    examples: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of_definition(cls, definition: dict[str, Any]) -> "ShownTool":
        """Return one of the gateway's own tools."""
        return cls(definition["name"], definition["description"], definition["parameters"])

    @classmethod
    def of_typed(cls, tool: TypedTool, shown: Collection[str] | None = None) -> "ShownTool":
        """Return an op as a separate tool with its lean definition, beside the tools that are named in `shown`."""
        return cls(tool.name, tool.lean.describe(shown), tool.lean.parameters, op=tool.op)

    @classmethod
    def of_brief(cls, tool: TypedTool) -> "ShownTool":
        """Return an op as a separate tool with its brief definition."""
        return cls(tool.name, tool.brief.describe(), tool.brief.parameters, op=tool.op)

    @classmethod
    def of_deferred(cls, tool: TypedTool) -> "ShownTool":
        """Return an op as a tool that a search loads: whole, and in strict mode if its schema allows that."""
        examples = [example["args"] for example in tool.op.examples]
        if tool.strict_parameters is not None:
            examples = [fill_nulls(tool.strict_parameters, args) for args in examples]
        return cls(
            tool.name,
            tool.description,
            tool.parameters,
            op=tool.op,
            strict_parameters=tool.strict_parameters,
            is_deferred=True,
            examples=tuple(examples),
        )


@dataclass(frozen=True, slots=True)
class ToolsetRequest:
    """The request that tools are chosen for. Equal requests get the same tools, apart from a selection by message."""

    visibility: Visibility
    context: UserContext = field(default_factory=UserContext)
    model_family: str = ""
    conversation: ToolsetConversation = EMPTY_CONVERSATION

    @property
    def message(self) -> str:
        """What the user wrote."""
        return self.conversation.message

    @classmethod
    def of_caller(cls, caller: Caller) -> "ToolsetRequest":
        """Return the request of a caller, without the ids of their context and without what the user wrote."""
        context = UserContext(type=caller.context.type, entity_type=caller.context.entity_type)
        return cls(caller.visibility, context, get_model_family(caller.model))


@dataclass(frozen=True)
class SurfaceTools:
    """The tools of a surface, and the names of those left out: too many, over budget, or refused by providers."""

    tools: tuple[ShownTool, ...]
    left_out: tuple[str, ...] = ()
