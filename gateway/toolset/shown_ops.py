"""Contexts (what the user looks at) with their ops, and the ops that can be separate tools."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from registry.catalog.model import Catalog, CatalogOp
from registry.checks import providers
from registry.checks.text_locations import CheckedOp
from registry.help.typed_tools import TypedTools

GLOBAL_CONTEXT = "global"  # context of a user who is not looking at anything in particular
BASE_CONTEXT = "base"  # ops of this context belong to every context

# Contexts without their own tools, and the context whose tools they use.
CONTEXT_ALIASES = {
    "ontology": "project",
    "task": "project",
    "calendar": GLOBAL_CONTEXT,
    "brain_dump": GLOBAL_CONTEXT,
    "daily_brief": GLOBAL_CONTEXT,
    "daily_brief_update": BASE_CONTEXT,
    "": GLOBAL_CONTEXT,
}
READ_ONLY_CONTEXTS = frozenset(("project_audit", "project_forecast"))
__all__ = ["MAX_TOOLS", "TypedTools", "split_refused"]
MAX_TOOLS = 128  # tools per request (limit of OpenAI Chat Completions)
MAIN_ACTIONS = ("list", "search", "get", "create", "update")  # what most messages need, the most needed first


def resolve_context(context: str) -> str:
    """Return the context whose tools a context uses: itself, if it has its own tools."""
    return CONTEXT_ALIASES.get(context, context)


def list_context_ops(catalog: Catalog, context: str) -> Sequence[CatalogOp]:
    """Return the ops of a context; for an unknown context, those of the global one.

    They are sorted by path if they fit into a toolset, otherwise by rank: what is cut off must not depend on names.
    """
    return catalog.get_or_derive(_ContextOps, lambda: _ContextOps(catalog)).get(context)


def rank_ops(ops: Iterable[CatalogOp]) -> list[CatalogOp]:
    """Return ops in the order in which they get a place: the gateway's own before services', main actions first."""
    return sorted(ops, key=lambda op: (op.is_of_service, _get_action_rank(op), op.op))


def _get_action_rank(op: CatalogOp) -> int:
    return MAIN_ACTIONS.index(op.action) if op.action in MAIN_ACTIONS else len(MAIN_ACTIONS)


class _ContextOps:
    """The ops of a catalog by context."""

    def __init__(self, catalog: Catalog) -> None:
        self._ops = sorted(catalog.ops.values(), key=lambda op: op.op)
        self._by_context: dict[str, Sequence[CatalogOp]] = {}

    def get(self, context: str) -> Sequence[CatalogOp]:
        name = resolve_context(context)
        if name not in self._known_contexts:
            name = GLOBAL_CONTEXT
        if name not in self._by_context:
            ops = [op for op in self._ops if _belongs_to(op, name)]
            self._by_context[name] = ops if len(ops) <= MAX_TOOLS else rank_ops(ops)
        return self._by_context[name]

    @cached_property
    def _known_contexts(self) -> frozenset[str]:
        return frozenset(context for op in self._ops for context in op.contexts) | {BASE_CONTEXT, *READ_ONLY_CONTEXTS}


def _belongs_to(op: CatalogOp, context: str) -> bool:
    if op.is_write and context in READ_ONLY_CONTEXTS:
        return False
    # An op without contexts, such as an imported one, belongs to all.
    return not op.contexts or not {context, BASE_CONTEXT}.isdisjoint(op.contexts)


class _RefusedOps(frozenset[str]):
    """Paths of ops that a provider would refuse even with a provider-safe top level. Derived once per catalog."""


def split_refused(catalog: Catalog, ops: Iterable[CatalogOp]) -> tuple[list[CatalogOp], list[CatalogOp]]:
    """Return the ops that providers accept as tools, and those that they refuse."""
    refused = catalog.get_or_derive(
        _RefusedOps, lambda: _RefusedOps(op.op for op in catalog.ops.values() if _is_refused(op))
    )
    listed = list(ops)
    return [op for op in listed if op.op not in refused], [op for op in listed if op.op in refused]


def _is_refused(op: CatalogOp) -> bool:
    reading = CheckedOp(
        {"op": op.op, "tool_name": op.tool_name, "kind": op.kind, "summary": op.summary, "parameters_schema": op.schema}
    )
    return any(finding.rule != providers.TOP_LEVEL.name for finding in providers.check(reading))
