"""What each surface shows the model: tools {name, description, parameters} and a prompt from the release."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analytics.rollout.flags import Surface
from gateway.contracts import tool_definitions
from registry import checks
from registry.catalog.model import Catalog, CatalogOp, Visibility
from registry.checks import providers
from registry.checks.text_locations import CheckedOp
from registry.jsonschema import arguments, signatures

MAX_TOOLS = 128  # tools per request (limit of OpenAI Chat Completions)
GLOBAL_CONTEXT = "global"  # context of a user who is not looking at anything in particular
BASE_CONTEXT = "base"  # ops of this context belong to every context
# Contexts without tools of their own, and the context whose tools they use.
CONTEXT_ALIASES = {
    "ontology": "project",
    "calendar": GLOBAL_CONTEXT,
    "brain_dump": GLOBAL_CONTEXT,
    "daily_brief": GLOBAL_CONTEXT,
}
CONTEXT_ALIASES |= {"daily_brief_update": BASE_CONTEXT, "": GLOBAL_CONTEXT}

_OP_PATH = re.compile(r"(?<![a-z0-9_])[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")

# Keywords that providers refuse at the top level of a schema. The op still validates them.
_TOP_LEVEL_KEYWORDS = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas", "$schema")
)


@dataclass(frozen=True)
class SurfaceTools:
    """The tools of a surface, and the names of tools left out because a provider would refuse the request."""

    tools: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...] = ()


def select_tools(surface: str, catalog: Catalog, visibility: Visibility, context: str) -> SurfaceTools:
    """Return the tools of a surface in a context (the type of Gateway-Context)."""
    if surface == Surface.GATEWAY:
        return SurfaceTools(tool_definitions.GATEWAY_TOOLS)
    static_tools = catalog.get_or_derive(_StaticTools, lambda: _StaticTools(catalog))
    view = catalog.view_for(visibility)
    ops = [op for op in static_tools.get_ops(context) if op.op in view.ops]
    usable = [op for op in ops if op.op not in static_tools.refused_ops]
    left_out = tuple(
        op.tool_name for op in (*(op for op in ops if op.op in static_tools.refused_ops), *usable[MAX_TOOLS:])
    )
    return SurfaceTools(tuple(static_tools.definitions[op.op] for op in usable[:MAX_TOOLS]), left_out)


def build_prompt(surface: str, catalog: Catalog, surface_tools: SurfaceTools) -> str:
    """Return the prompt of a surface, without the sections that name a tool not shown with it.

    Publishing refuses names that are never on the surface. On legacy, context and key decide which tools are shown.
    """
    hidden_names: set[str] = set()
    if surface == Surface.LEGACY:
        hidden_names = {op.tool_name for op in catalog.ops.values()} - {tool["name"] for tool in surface_tools.tools}
    sections = catalog.prompts.get(f"{surface}_surface", ())
    sections = tuple(
        each for each in sections if not checks.find_names_in_text(f"{each.title} {each.text}", hidden_names)
    )
    return "\n\n".join(f"{section.title}\n{section.text}" for section in sections)


class _StaticTools:
    """The ops of a catalog as separate tools, built once per catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._ops = sorted(catalog.ops.values(), key=lambda op: op.op)
        self._by_context: dict[str, Sequence[CatalogOp]] = {}

    def get_ops(self, context: str) -> Sequence[CatalogOp]:
        """Return the ops of a context; for an unknown context, those of the global one."""
        name = CONTEXT_ALIASES.get(context, context)
        if name not in self._known_contexts:
            name = GLOBAL_CONTEXT
        if name not in self._by_context:
            # An op without contexts, such as an imported one, belongs to all.
            allowed_contexts = {name, BASE_CONTEXT}
            self._by_context[name] = [op for op in self._ops if not op.contexts or allowed_contexts & set(op.contexts)]
        return self._by_context[name]

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Each op as a tool, by path."""
        names = {op.op: op.tool_name for op in self._ops}
        return {op.op: _replace_paths_with_names(_build_tool(op), names) for op in self._ops}

    @cached_property
    def refused_ops(self) -> frozenset[str]:
        """Paths of ops that a provider would refuse even with a provider-safe top level."""
        return frozenset(op.op for op in self._ops if _is_refused(op))

    @cached_property
    def _known_contexts(self) -> frozenset[str]:
        return frozenset(context for op in self._ops for context in op.contexts) | {BASE_CONTEXT}


def _build_tool(op: CatalogOp) -> dict[str, Any]:
    description = f"{op.summary.rstrip('.')}. {op.description}".strip()
    return {"name": op.tool_name, "description": description, "parameters": make_provider_safe(op.schema)}


def _replace_paths_with_names(node: Any, names: dict[str, str]) -> Any:
    """Return a tool definition with op paths in its descriptions replaced by tool names."""
    if isinstance(node, dict):
        return {
            key: _OP_PATH.sub(lambda match: names.get(match[0], match[0]), value)
            if key == "description" and isinstance(value, str)
            else _replace_paths_with_names(value, names)
            for key, value in node.items()
        }
    return [_replace_paths_with_names(each, names) for each in node] if isinstance(node, list) else node


def make_provider_safe(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an argument schema that every provider accepts: an object with all its properties at the top level."""
    bare_schema: dict[str, Any] = signatures.strip_annotations(schema)
    properties = list(arguments.iter_arguments(bare_schema))
    other_keywords = {
        key: value for key, value in bare_schema.items() if key not in _TOP_LEVEL_KEYWORDS and key != "$ref"
    }
    object_keywords = {"type": "object", "properties": {name: each for name, each, _ in properties}}
    required = [name for name, _, is_required in properties if is_required]
    return other_keywords | object_keywords | ({"required": required} if required else {})


def _is_refused(op: CatalogOp) -> bool:
    reading = CheckedOp({"op": op.op, "tool_name": op.tool_name, "parameters_schema": op.schema})
    return any(finding.rule != providers.TOP_LEVEL.name for finding in providers.check(reading))
