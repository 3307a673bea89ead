"""How well dynamic selection chooses tools: on labelled conversations, against all tools of the context.

A turn is complete if it has every tool that it needs, or one of each set of equal ones. What a selection lacks comes
with an escalation for each missing tool. Conversations of the split "test" are held out: nothing is tuned on them.
Who has read them to tune moves them to "dev", and somebody else writes new ones.
"""

import json
import statistics
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import selection_services
from benchmarks.figures import BenchmarkFigure
from core.text import token_budget
from gateway.access.request_context import UserContext
from gateway.toolset import rendering
from gateway.toolset.conversation import ASSISTANT, MAX_MESSAGES, USER, ToolsetConversation
from gateway.toolset.escalation import widen_toolset
from gateway.toolset.selection import candidates, heuristics, selector
from gateway.toolset.selection.turn_model import TurnModel
from gateway.toolset.shown_tools import ToolsetRequest
from gateway.toolset.surfaces import legacy
from registry.catalog.builder import build_catalog
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp
from registry.files import loader

# One conversation a line: {"conversation", "split": dev|test, "language"?, "context": {"type", "entity_type"?},
# "services"?: [names of connected ones], "turns": [{"message" (empty: the user decided by a button),
# "needs": [tool name, or [equal ones]], "intent": read|write|mixed, "elliptic"?, "reply"?: of the assistant}]}
CONVERSATIONS = Path(__file__).parents[1] / "tests" / "data" / "selection_turns.jsonl"
DEV, HELD_OUT = "dev", "test"
OTHER_LANGUAGES = "other"  # the language of conversations in none of those whose words are known
MAX_TOKENS = 2_450  # of the definitions: the default of GATEWAY_SELECTION_TOKENS
STEPS = 2  # escalations
Labels = dict[str, Any]
RECENT_TURNS = 2  # whose tools a chat sends


@dataclass(frozen=True, slots=True)
class SelectedTurn:
    """One turn: the tools selected and those of the context, with their tokens, and how many escalations it needs."""

    conversation: str
    message: str
    split: str
    language: str
    intent: str
    is_elliptic: bool
    tools: int
    writes: int
    tokens: int
    context_tools: int
    context_tokens: int
    missing: tuple[str, ...]  # tools that the first selection lacks
    is_whole: bool  # whether all that it needs has a whole definition
    escalations: int | None  # None: no step has all that it needs
    milliseconds: float

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing. Writes in a language whose words are unknown come with an escalation."""
        return not self.missing or (self.language == OTHER_LANGUAGES and self.intent != "read")


def measure_selection(every: int = 1) -> list[BenchmarkFigure]:
    """Return the figures of the labelled turns, those of the held-out ones under names of their own.

    `every` takes one of so many conversations.
    """
    turns = list(replay_turns(every))
    splits = [split for split in (DEV, HELD_OUT) if any(turn.split == split for turn in turns)]
    return [figure for split in splits for figure in _measure_split(split, turns)]


def _measure_split(split: str, all_turns: Sequence[SelectedTurn]) -> Iterator[BenchmarkFigure]:
    turns = [turn for turn in all_turns if turn.split == split]
    reads = [turn for turn in turns if turn.intent == "read"]
    elliptic = [turn for turn in turns if turn.is_elliptic]
    name = "selection" if split == DEV else "selection.held_out"
    against = f"{len(turns)} labelled turns"
    fewer = 1 - sum(turn.tools for turn in turns) / sum(turn.context_tools for turn in turns)
    context_tokens = statistics.median(turn.context_tokens for turn in turns)
    shares = {
        "complete": ([turn.is_complete for turn in turns], against),
        "elliptic": ([turn.is_complete for turn in elliptic], f"{len(elliptic)} turns that continue an earlier one"),
        "reads_without_writes": ([not turn.writes for turn in reads], f"{len(reads)} turns that only read"),
    }
    for key, (values, group) in shares.items():
        yield BenchmarkFigure(f"{name}.{key}", round(sum(values) / len(values), 3), "share", group)
    failed = [turn for turn in turns if turn.escalations is None]
    yield BenchmarkFigure(f"{name}.failed", len(failed), "turns", f"{against}, after {STEPS} escalations")
    yield BenchmarkFigure(f"{name}.fewer_tools", round(fewer, 3), "share", f"{against}, against all of the context")
    tokens = statistics.median(turn.tokens for turn in turns)
    yield BenchmarkFigure(f"{name}.tokens", round(tokens), "tokens", f"median; {context_tokens:,.0f} for the context")
    slow = statistics.quantiles((turn.milliseconds for turn in turns), n=20)[-1]
    yield BenchmarkFigure(f"{name}.p95", round(slow, 1), "ms", f"{against}, in process, without a model")


def replay_turns(every: int = 1) -> Iterator[SelectedTurn]:
    """Yield each labelled turn as heuristics select its tools, after the turns before it."""
    return replay_conversations(CONVERSATIONS.read_text().splitlines()[::every])


def replay_conversations(lines: Iterable[str], model: TurnModel | None = None) -> Iterator[SelectedTurn]:
    """Yield each turn of labelled conversations as a model of turns selects its tools; without one, the shipped one."""
    for labels, turn, conversation, catalog in iterate_turns(lines):
        yield _replay_turn(labels, turn, build_request(labels, conversation), catalog, model)


def iterate_turns(lines: Iterable[str]) -> Iterator[tuple[Labels, Labels, ToolsetConversation, Catalog]]:
    """Yield (labels of the conversation, labels of the turn, conversation until then, catalog) of each turn."""
    for line in lines:
        labels = json.loads(line)
        catalog = build_labelled_catalog(tuple(labels.get("services", ())))
        messages: list[dict[str, str]] = []
        called: list[list[str]] = []
        for turn in labels["turns"]:
            body = {
                "message": turn["message"],
                "messages": messages[-MAX_MESSAGES:],
                "recent_tools": [name for names in called[-RECENT_TURNS:] for name in names],
            }
            yield labels, turn, ToolsetConversation.of_body(body), catalog
            if turn["message"]:
                messages.append({"role": USER, "content": turn["message"]})
            messages.append({"role": ASSISTANT, "content": turn.get("reply", "")})
            called.append([need[0] for need in reversed(list_needs(turn))])


def list_needs(turn: Labels) -> list[list[str]]:
    """Return the sets of equal tools of which a turn needs one each."""
    return [[need] if isinstance(need, str) else need for need in turn["needs"]]


def build_request(labels: Labels, conversation: ToolsetConversation) -> ToolsetRequest:
    """Return the request for the tools of a turn."""
    context = UserContext(labels["context"]["type"], entity_type=labels["context"].get("entity_type", ""))
    return ToolsetRequest(FULL_VISIBILITY, context, conversation=conversation)


@cache
def build_labelled_catalog(services: tuple[str, ...] = ()) -> Catalog:
    """Return the shipped catalog and the ops of these services, which `benchmarks/selection_services.py` names."""
    return build_catalog("v" * 64, selection_services.add_services(loader.read_shipped_catalog(), services))


def _replay_turn(
    labels: Labels, turn: Labels, request: ToolsetRequest, catalog: Catalog, model: TurnModel | None
) -> SelectedTurn:
    started = time.perf_counter()
    pool = candidates.list_candidates(catalog, request)
    plan = heuristics.plan_selection(request, pool, catalog, model)
    result = selector.compose_selection(plan, pool, catalog, request, max_tokens=MAX_TOKENS)
    milliseconds = (time.perf_counter() - started) * 1_000
    chosen, needs = result.ops, list_needs(turn)
    context_tools, context_tokens = _measure_context(tuple(labels.get("services", ())), request.context)
    return SelectedTurn(
        conversation=labels["conversation"],
        message=turn["message"] or f"({request.message})",
        split=labels["split"],
        language=labels.get("language", "en"),
        intent=turn["intent"],
        is_elliptic=turn.get("elliptic", False),
        tools=len(chosen),
        writes=sum(op.is_write for op in chosen),
        tokens=_count_tokens(chosen, catalog, brief=result.optional),
        context_tools=context_tools,
        context_tokens=context_tokens,
        missing=tuple(need[0] for need in _find_missing(needs, chosen)),
        is_whole=not _find_missing(needs, [op for op in chosen if op.tool_name in result.required]),
        escalations=_count_escalations(needs, chosen, catalog, request),
        milliseconds=milliseconds,
    )


@cache
def _measure_context(services: tuple[str, ...], context: UserContext) -> tuple[int, int]:
    """Return the number of tools of a context, and their tokens."""
    catalog = build_labelled_catalog(services)
    ops = legacy.list_static_ops(catalog, ToolsetRequest(FULL_VISIBILITY, context))
    return len(ops), _count_tokens(ops, catalog)


def _count_tokens(ops: Sequence[CatalogOp], catalog: Catalog, *, brief: Collection[str] = ()) -> int:
    tools = legacy.show_ops(catalog, ops, brief=brief).tools
    return sum(token_budget.count_json(rendering.to_openai(tool)) for tool in tools)


def _find_missing(needs: Sequence[Sequence[str]], ops: Sequence[CatalogOp]) -> list[Sequence[str]]:
    names = {op.tool_name for op in ops}
    return [need for need in needs if names.isdisjoint(need)]


def _count_escalations(
    needs: Sequence[Sequence[str]], chosen: Sequence[CatalogOp], catalog: Catalog, request: ToolsetRequest
) -> int | None:
    """Return how many steps a turn takes until it has all tools: one for each call of a missing tool, at most two."""
    shown = list(chosen)
    for step in range(STEPS + 1):
        missing = _find_missing(needs, shown)
        if not missing:
            return step
        called = catalog.find_op(missing[0][0])
        if called is None:
            return None
        shown = widen_toolset(shown, called, catalog, request)
    return None
