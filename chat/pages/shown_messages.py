"""Messages as the page shows them: questions as text, answers as HTML with cards, what was written, and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from itertools import groupby
from typing import Any
from uuid import UUID

from chat.markdown import render_markdown
from chat.models import Message, ToolCall
from chat.pages.shown_calls import ShownCall, show_call
from chat.turns import wording
from chat.turns.operations import NamesSeen

Finish = Message.Finish

# Notes below answers that were ended early. Errors have their own words.
NOTES = {
    Finish.CANCELLED: "You stopped this answer.",
    Finish.LIMIT: "This answer reached the limit of one turn. Write “go on” to continue.",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer: text as HTML, or calls that were made together."""

    html: str = ""
    calls: tuple[ShownCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A row that was written, as a sentence, and whether the answer says so itself."""

    text: str
    is_done: bool
    is_told: bool


@dataclass(frozen=True, slots=True)
class ShownLayer:
    """A layer of the context: its size, its budget (0: none), and its share of the budget in percent."""

    name: str
    tokens: str
    budget: str
    share: float
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What served a turn and what it cost."""

    surface: str
    release: str
    cohorts: tuple[str, ...]
    spent: str
    layers: tuple[ShownLayer, ...]
    sums: tuple[tuple[str, str], ...]  # from the layers to all tokens of the turn


@dataclass(frozen=True, slots=True)
class ShownVersions:
    """Which of how many versions of a message is shown, and the ids of its neighbours, empty at the ends."""

    number: int
    count: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A question, or an answer with everything below it. `state` is the turn's finish, "waiting" while it runs."""

    id: str
    is_question: bool
    text: str
    files: Sequence[Mapping[str, Any]] = ()
    reasoning: str = ""
    state: str = ""
    pieces: tuple[Piece, ...] = ()
    writes: tuple[Write, ...] = ()
    note: str = ""
    is_retryable: bool = False
    thumb: str = ""
    thumb_reason: str = ""
    versions: ShownVersions | None = None
    figures: Figures | None = None


@dataclass(slots=True)
class ShownConversation:
    """All messages, and the names of the rows in them."""

    messages: list[ShownMessage] = field(default_factory=list)
    names: NamesSeen = field(default_factory=lambda: NamesSeen({}))


def show_messages(
    messages: Sequence[Message], versions: Mapping[UUID, Sequence[UUID]], zone: tzinfo = UTC
) -> ShownConversation:
    """Return the messages of a conversation, in order, with their calls prefetched.

    `versions` are the ids of all versions of those messages that have several. Times are in the user's zone.
    """
    shown = ShownConversation()
    last_question = max((each.position for each in messages if each.role == Message.Role.USER), default=0)
    for message in messages:
        if message.role == Message.Role.USER:
            row = ShownMessage(str(message.pk), True, message.text, files=message.files)
        else:
            row = _show_answer(message, shown.names, zone, is_waiting=message.position > last_question)
        shown.messages.append(replace(row, versions=_show_versions(message.pk, versions.get(message.pk, ()))))
    return shown


def _show_versions(id: UUID, ids: Sequence[UUID]) -> ShownVersions | None:
    if id not in ids:  # a failed answer is no version to go back to
        return None
    at = ids.index(id)
    before, after = ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""
    return ShownVersions(at + 1, len(ids), str(before), str(after))


def _show_answer(message: Message, names: NamesSeen, zone: tzinfo, *, is_waiting: bool) -> ShownMessage:
    if not message.finish:  # the page gets everything from the stream
        return ShownMessage(str(message.pk), False, "", state="waiting")
    calls = list(message.calls.all())
    for call in calls:
        names.learn((call.envelope or {}).get("result") or (call.envelope or {}).get("results"))
    error = message.error or {}
    return ShownMessage(
        id=str(message.pk),
        is_question=False,
        text=message.text,
        reasoning=message.reasoning.strip(),
        state=message.finish,
        pieces=tuple(_split(message.text, calls, zone, is_waiting=is_waiting)),
        writes=tuple(_list_writes(message)),
        note=str(error.get("message") or NOTES.get(Finish(message.finish), "")),
        is_retryable=bool(error.get("retryable")),
        thumb=message.thumb,
        thumb_reason=message.thumb_reason,
        figures=show_figures(message),
    )


def _split(text: str, calls: Sequence[ToolCall], zone: tzinfo, *, is_waiting: bool) -> Iterator[Piece]:
    """Yield the text and the calls in the order in which they came."""
    start = 0
    for end, group in groupby(calls, key=lambda call: call.text_before):
        if text[start:end].strip():
            yield Piece(html=render_markdown(text[start:end]))
        yield Piece(calls=tuple(show_call(call, is_waiting=is_waiting, zone=zone) for call in group))
        start = end
    if text[start:].strip():
        yield Piece(html=render_markdown(text[start:]))


def _list_writes(message: Message) -> Iterator[Write]:
    for operation in wording.drop_repaired(message.written):
        is_done, is_told = operation["status"] == "success", wording.is_told(operation, message.text)
        yield Write(wording.describe_write(operation), is_done, is_told)


def show_figures(message: Message) -> Figures:
    """Return what served a turn, and its tokens and dollars. static/chat/figures.js does it for streamed turns."""
    usage = message.usage or {}
    read, written, answers = (int(usage.get(name, 0)) for name in ("input", "output", "answers"))
    dollars = float(usage.get("dollars", 0))
    parts = [f"{read + written:,} tokens", format_dollars(dollars)] if dollars else [f"{read + written:,} tokens"]
    layers = tuple(_show_layer(layer) for layer in message.layers)
    return Figures(
        surface=message.surface,
        release=message.release,
        cohorts=tuple(message.cohort.split()),
        spent=" · ".join(parts) if read + written else "",
        layers=layers,
        sums=tuple((name, f"{tokens:,}") for name, tokens in _sum_up(message.layers, read, written, answers)),
    )


def _sum_up(layers: list[dict[str, Any]], read: int, written: int, answers: int) -> Iterator[tuple[str, int]]:
    """Yield what leads from the layers of one request to all tokens of a turn, as static/chat/figures.js does."""
    context = sum(int(layer.get("tokens", 0)) for layer in layers)
    yield "Together, per request", context
    if not answers:
        return
    requests = f"{answers:,} request{'' if answers == 1 else 's'}"
    if read >= answers * context:  # else the provider counts otherwise than we do
        yield f"{requests} with it", answers * context
        yield "Messages and results of calls", read - answers * context
    else:
        yield f"Read in {requests}", read
    yield "Answers and calls", written
    yield "Sum", read + written


def _show_layer(layer: dict[str, Any]) -> ShownLayer:
    tokens, budget = int(layer.get("tokens", 0)), int(layer.get("budget", 0))
    return ShownLayer(
        name=str(layer.get("name", "")),
        tokens=f"{tokens:,}",
        budget=f"{budget:,}" if budget else "",
        share=round(min(100, 100 * tokens / budget), 1) if budget else 0,
        is_cut=bool(layer.get("cut")),
    )


def format_dollars(dollars: float) -> str:
    """Return an amount with the digits that it needs."""
    return f"${dollars:.4f}" if dollars < 0.1 else f"${dollars:.2f}"


def find_context_name(context: dict[str, Any], names: NamesSeen) -> str:
    """Return what a conversation is about, in words."""
    kind = str(context.get("type", ""))
    id = context.get("entity_id") if kind == "task" else context.get("project_id")
    return names.get(str(id)) or {"project": "A project", "task": "A task", "calendar": "Calendar"}.get(kind, "")
