"""What each surface shows the model: tools {name, description, parameters} and a prompt from the release."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analytics.rollout.flags import Surface
from gateway import tools
from registry import arguments, checks, signatures
from registry.catalogs import Catalog, CatalogOp, Visibility
from registry.checks import providers
from registry.checks.places import Reading

MOST = 128  # tools per request (limit of OpenAI Chat Completions)
ANYWHERE = "global"  # context of a user who is not looking at anything in particular
EVERYWHERE = "base"  # ops of this context belong to every context
# Contexts without tools of their own, and the context whose tools they use.
ALIASES = {"ontology": "project", "calendar": ANYWHERE, "brain_dump": ANYWHERE, "daily_brief": ANYWHERE}
ALIASES |= {"daily_brief_update": EVERYWHERE, "": ANYWHERE}

_PATH = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")

# Keywords that providers refuse at the top level of a schema. The op still validates them.
_TOP = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas", "$schema")
)


@dataclass(frozen=True)
class Shown:
    """The tools of a surface, and the names of tools left out because a provider would refuse the request."""

    tools: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...] = ()


def show(surface: str, catalog: Catalog, visibility: Visibility, context: str) -> Shown:
    """Return the tools of a surface in a context (the type of Gateway-Context)."""
    if surface == Surface.GATEWAY:
        return Shown(tools.DEFINITIONS)
    known = catalog.derived(_Static, lambda: _Static(catalog))
    view = catalog.view(visibility)
    ops = [op for op in known.of(context) if op.op in view.ops]
    fitting = [op for op in ops if op.op not in known.refused]
    named = tuple(op.tool_name for op in (*(op for op in ops if op.op in known.refused), *fitting[MOST:]))
    return Shown(tuple(known.definitions[op.op] for op in fitting[:MOST]), named)


def prompt(surface: str, catalog: Catalog, shown: Shown) -> str:
    """Return the prompt of a surface, without the sections that name a tool not shown with it.

    Publishing refuses names that are never on the surface. On legacy, context and key decide which tools are shown.
    """
    away: set[str] = set()
    if surface == Surface.LEGACY:
        away = {op.tool_name for op in catalog.ops.values()} - {tool["name"] for tool in shown.tools}
    sections = catalog.prompts.get(f"{surface}_surface", ())
    sections = tuple(each for each in sections if not checks.names_in(f"{each.title} {each.text}", away))
    return "\n\n".join(f"{section.title}\n{section.text}" for section in sections)


class _Static:
    """The ops of a catalog as separate tools, built once per catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._ops = sorted(catalog.ops.values(), key=lambda op: op.op)
        self._by_context: dict[str, Sequence[CatalogOp]] = {}

    def of(self, context: str) -> Sequence[CatalogOp]:
        """Return the ops of a context; for an unknown context, those of the global one."""
        name = ALIASES.get(context, context)
        if name not in self._known:
            name = ANYWHERE
        if name not in self._by_context:
            # An op without contexts, such as an imported one, belongs to all.
            wanted = {name, EVERYWHERE}
            self._by_context[name] = [op for op in self._ops if not op.contexts or wanted & set(op.contexts)]
        return self._by_context[name]

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Each op as a tool, by path."""
        names = {op.op: op.tool_name for op in self._ops}
        return {op.op: _renamed(_tool(op), names) for op in self._ops}

    @cached_property
    def refused(self) -> frozenset[str]:
        """Paths of ops that a provider would refuse even with a provider-safe top level."""
        return frozenset(op.op for op in self._ops if _is_refused(op))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(context for op in self._ops for context in op.contexts) | {EVERYWHERE}


def _tool(op: CatalogOp) -> dict[str, Any]:
    description = f"{op.summary.rstrip('.')}. {op.description}".strip()
    return {"name": op.tool_name, "description": description, "parameters": provider_safe(op.schema)}


def _renamed(said: Any, names: dict[str, str]) -> Any:
    """Return a tool definition with op paths in its descriptions replaced by tool names."""
    if isinstance(said, dict):
        return {
            key: _PATH.sub(lambda found: names.get(found[0], found[0]), value)
            if key == "description" and isinstance(value, str)
            else _renamed(value, names)
            for key, value in said.items()
        }
    return [_renamed(each, names) for each in said] if isinstance(said, list) else said


def provider_safe(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an argument schema that every provider accepts: an object with all its properties at the top level."""
    plain: dict[str, Any] = signatures.without_annotations(schema)
    found = list(arguments.properties(plain))
    kept = {key: value for key, value in plain.items() if key not in _TOP and key != "$ref"}
    named = {"type": "object", "properties": {name: each for name, each, _ in found}}
    required = [name for name, _, is_required in found if is_required]
    return kept | named | ({"required": required} if required else {})


def _is_refused(op: CatalogOp) -> bool:
    reading = Reading({"op": op.op, "tool_name": op.tool_name, "parameters_schema": op.schema})
    return any(finding.rule != providers.TOP_LEVEL.name for finding in providers.check(reading))
