"""Plan a selection without a language model: by a small linear model of turns, trained on labelled ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from gateway.toolset.selection import finders, turn_model
from gateway.toolset.selection.candidates import (
    CREATE_CONTEXT,
    ONLY_WHEN_ASKED,
    ToolCategory,
    find_named_entities,
    get_category,
    get_focus,
)
from gateway.toolset.selection.op_table import Floats, OpTable
from gateway.toolset.selection.turn_features import TurnFeatures, TurnSituation, read_features, split_sentences
from gateway.toolset.selection.turn_model import TurnModel, TurnReading
from gateway.toolset.shown_ops import READ_ONLY_CONTEXTS, resolve_context
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp
from registry.search import intent

MIN_WRITE_CHANCE = 0.54  # of a turn that gets writes: reads with writes cost more than writes that need an escalation
MIN_SENTENCE_CHANCE = 0.8  # that one of several sentences changes something
SURE_WRITE_CHANCE = 0.9  # of a turn that only writes
MAX_REQUIRED = 6  # likeliest ops, which are shown with their whole definitions
MAX_RECENT = 8  # ops called lately that count
MAX_KEPT = 3  # of them are shown again where a turn goes on
MIN_CHANCE = 0.005  # of an op to be shown
MIN_REQUIRED_CHANCE = 0.05
MIN_ASKED_CHANCE = 0.1  # of an op that is shown only if it is asked for
GET = "get"
MIN_ROW_NAME = 3  # characters of a name that is looked for in a message


class Intent(StrEnum):
    """Whether a message asks to read, to write, or both."""

    READ = "read"
    WRITE = "write"
    MIXED = "mixed"


class SelectionMode(StrEnum):
    """What decided: a language model, the model of turns, or nothing, so that the tools of the context stay."""

    LLM = "llm"
    HEURISTIC = "heuristic"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """What a message wants. Tools are named by tool name, the best first; `confidence` is from 0 to 1."""

    mode: SelectionMode
    intent: Intent
    tool_categories: frozenset[ToolCategory]
    required_tools: tuple[str, ...]
    optional_tools: tuple[str, ...]
    confidence: float
    reason: str = ""


PLAN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "intent": {"type": "string", "enum": list(Intent)},
        "tool_categories": {"type": "array", "items": {"type": "string", "enum": list(ToolCategory)}},
        "required_tools": {"type": "array", "items": {"type": "string"}, "maxItems": 40},
        "optional_tools": {"type": "array", "items": {"type": "string"}, "maxItems": 60},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "reason": {"type": "string"},
    },
    "required": ["intent", "tool_categories", "required_tools", "optional_tools", "confidence"],
}


@dataclass(frozen=True)
class TurnInput:
    """What the model of turns reads: the turn, the ops of the catalog, and what speaks for each."""

    turn: TurnSituation
    table: OpTable
    visible: frozenset[str]  # paths of the ops that the caller may run
    features: TurnFeatures
    evidence: Floats
    parts: tuple[TurnFeatures, ...] = ()  # those of each sentence, if there are several

    @classmethod
    def of_request(cls, request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog) -> "TurnInput":
        """Return what the model reads about a request."""
        table = catalog.get_or_derive(OpTable, lambda: OpTable(catalog))
        # A turn that goes on after a decision keeps what its message had, so its own calls do not count.
        recent = () if request.conversation.is_continued else list_recent_ops(request, catalog)
        named = find_named_entities(request.message, catalog) | _find_named_rows(request)
        turn = TurnSituation(request.conversation, request.context, recent, frozenset(named))
        visible = catalog.view_for(request.visibility).ops
        evidence, parts = table.collect_evidence(turn, candidates), tuple(map(read_features, split_sentences(turn)))
        return cls(turn, table, visible, read_features(turn), evidence, parts)

    def read(self, model: TurnModel) -> TurnReading:
        """Return what a model says about the turn. What one of its sentences surely wants, the turn wants."""
        op_outputs = self.table.get_outputs(model.outputs)
        whole, *parts = (model.read_turn(each, op_outputs, self.evidence) for each in (self.features, *self.parts))
        sure = [part.write_chance for part in parts if part.write_chance >= MIN_SENTENCE_CHANCE]
        return TurnReading(
            max(whole.write_chance, *sure, 0.0), np.max([each.op_chances for each in (whole, *parts)], axis=0)
        )


def plan_selection(
    request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog, model: TurnModel | None = None
) -> SelectionPlan:
    """Return the plan for a conversation. The same request and candidates give the same plan."""
    read = TurnInput.of_request(request, candidates, catalog)
    reading = read.read(model or turn_model.load_model())
    kept = list_recent_ops(request, catalog)[:MAX_KEPT] if request.conversation.is_continued else []
    wants = _decide_intent(request, reading.write_chance, kept)
    chance_by_path = {op.op: float(reading.op_chances[row]) for row, op in enumerate(read.table.ops)}
    ranked = sorted(_list_allowed(wants, read, request, candidates), key=lambda op: (-chance_by_path[op.op], op.op))
    ranked = [op for op in ranked if chance_by_path[op.op] >= _get_least_chance(op)]
    required = [op for op in ranked[:MAX_REQUIRED] if chance_by_path[op.op] >= MIN_REQUIRED_CHANCE]
    required = list({op.op: op for op in (*kept, *required)}.values())
    visible = read.visible
    known = _list_known_entities(request)
    found = [each for op in required for each in finders.list_finders(op, catalog, known=known) if each.op in visible]
    named_rows = _find_named_rows(request)
    found += [op for op in ranked if op.action == GET and op.entity in named_rows and op not in required]
    return SelectionPlan(
        mode=SelectionMode.HEURISTIC,
        intent=wants,
        tool_categories=frozenset(map(get_category, required)) | (ONLY_WHEN_ASKED & set(map(get_category, ranked))),
        required_tools=tuple(op.tool_name for op in required),
        optional_tools=tuple(dict.fromkeys(op.tool_name for op in (*found, *ranked))),
        confidence=max(reading.write_chance, 1 - reading.write_chance),
        reason=f"{wants}: {', '.join(sorted(read.turn.named)) or 'no kind of row is named'}",
    )


def list_recent_ops(request: ToolsetRequest, catalog: Catalog) -> list[CatalogOp]:
    """Return the ops that the model called lately, the newest first."""
    visible = catalog.view_for(request.visibility).ops
    ops = (catalog.find_op(name) for name in dict.fromkeys(reversed(request.conversation.recent_tools)))
    return [op for op in ops if op is not None and op.op in visible][:MAX_RECENT]


def _decide_intent(request: ToolsetRequest, write_chance: float, kept: Sequence[CatalogOp]) -> Intent:
    if write_chance >= SURE_WRITE_CHANCE:
        return Intent.WRITE
    is_about_to_create = request.context.type == CREATE_CONTEXT and not request.conversation.recent_tools
    may_write = write_chance >= MIN_WRITE_CHANCE or is_about_to_create or any(op.is_write for op in kept)
    return Intent.MIXED if may_write else Intent.READ


def _list_allowed(
    wants: Intent, read: TurnInput, request: ToolsetRequest, candidates: Sequence[CatalogOp]
) -> list[CatalogOp]:
    """Return the ops that suit the intent, the context and the rows and services that the message names."""
    catalog_ops, turn = read.table.ops, read.turn
    visible = read.visible
    services = read.table.find_named_services(request.message) | {op.connection for op in turn.recent[:2]}
    deleted = {*turn.named, *(op.entity for op in turn.recent)}
    may_write = wants != Intent.READ and request.context.type not in READ_ONLY_CONTEXTS
    is_narrow = resolve_context(request.context.type) not in ("global", "project")
    pool = {op.op for op in candidates} if is_narrow else visible
    return [
        op
        for op in catalog_ops
        if op.op in visible
        and (not op.is_write or (may_write and op.op in pool))
        and (not op.is_of_service or op.connection in services or op.entity not in read.table.own_entities)
        and (op.action != intent.DELETE or not turn.named or op.entity in deleted or op.connection in services)
    ]


def _get_least_chance(op: CatalogOp) -> float:
    return MIN_ASKED_CHANCE if get_category(op) in ONLY_WHEN_ASKED else MIN_CHANCE


def _list_known_entities(request: ToolsetRequest) -> set[str]:
    """Return the kinds of rows whose ids the model knows, or gets from the context."""
    context = {"project"} if resolve_context(request.context.type) != "global" else set()
    return (context | _find_named_rows(request) | {get_focus(request.context)}) - {""}


def _find_named_rows(request: ToolsetRequest) -> set[str]:
    """Return the kinds of the known rows whose names the message has."""
    return set(_iter_named_rows(request))


def _iter_named_rows(request: ToolsetRequest) -> Iterator[str]:
    message = request.message.casefold()
    for row in request.conversation.rows:
        if row.entity and len(row.name) >= MIN_ROW_NAME and row.name.casefold() in message:
            yield row.entity
