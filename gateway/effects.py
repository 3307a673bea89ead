"""Describe the effect of a rollout change: how many users it moves, and which ops the model gains or loses."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings

from analytics.rollout import current, effects, people
from analytics.rollout.effects import Effect, Move
from analytics.rollout.evaluation import Rollout
from analytics.rollout.flags import LIVE, FlagKey, Surface
from gateway import serving
from gateway.toolset import surfaces
from registry import catalogs
from registry.catalogs import EVERYTHING, Catalog, CatalogOp

CONTEXTS = 3  # contexts described per move
OFF = "The master switch AGENTIC_CHAT_TOOL_GATEWAY is off: until it is on, everyone stays on legacy."
LARGE = 0.5  # share of the seen users from which a change may be a mistake


def of(flag: FlagKey, after: Rollout, *, at: datetime) -> Effect:
    """Return the effect on last week's users of changing the current rollout to `after`."""
    return effects.of(flag, current.read(), after, people.recent(at))


def told(effect: Effect) -> list[str]:
    """Describe an effect in sentences, the most important first."""
    if not effect.seen:
        return ["No users were seen in the last 7 days, so the effect is unknown."]
    if not effect.moves:
        return [f"No change for {_users(effect.seen)}."]
    lines = [line for move in effect.moves for line in _move(effect, move)]
    if effect.moved >= 2 and effect.moved / effect.seen > LARGE:
        lines.append(f"That is {effect.moved / effect.seen:.0%} of all users seen.")
    if effect.flag == FlagKey.SURFACE and not settings.AGENTIC_CHAT_TOOL_GATEWAY:
        lines.append(OFF)
    return lines


def _move(effect: Effect, move: Move) -> Iterator[str]:
    verb = "moves" if move.count == 1 else "move"
    way = f"from {_named(move.before)} to {_named(move.after)}"
    yield f"{move.count:,} of {_users(effect.seen)} {verb} {way}."
    if effect.flag == FlagKey.SURFACE:
        yield from _surfaces(move)
    elif effect.flag == FlagKey.RELEASE:
        yield from _releases(move)


def _surfaces(move: Move) -> Iterator[str]:
    try:
        catalog = catalogs.live()
    except catalogs.NothingLive:
        return
    for context in move.contexts[:CONTEXTS]:
        before, after = (_within_reach(each, catalog, context) for each in (move.before, move.after))
        where = f"In the context {context}" if context else "Without a context"
        if told := _difference(before, after):
            yield f"{where}, the model {told}."
        else:
            yield f"{where}, the model can run the same ops."


def _releases(move: Move) -> Iterator[str]:
    try:
        before, after = (_catalog(each) for each in (move.before, move.after))
    except (*serving.GONE, catalogs.NothingLive):
        yield "One of the two releases can no longer be served: its users get the live release."
        return
    read = sum(before.ops[path] != op for path, op in after.ops.items() if path in before.ops)
    yield f"{_count(read, 'op')} {'has' if read == 1 else 'have'} different copy."
    if told := _difference(dict(before.ops), dict(after.ops)):
        yield f"The model {told}."


def _within_reach(surface: str, catalog: Catalog, context: str) -> dict[str, CatalogOp]:
    """Return the ops that a model can run on a surface, by path; the gateway surface can run all."""
    if surface == Surface.GATEWAY:
        return {path: catalog.ops[path] for path in catalog.view(EVERYTHING).ops}
    shown = surfaces.show(surface, catalog, EVERYTHING, context).tools
    found = [op for tool in shown if (op := catalog.find(tool["name"]))]
    return {op.op: op for op in found}


def _difference(before: dict[str, CatalogOp], after: dict[str, CatalogOp]) -> str:
    """Describe the difference between two sets of ops: "gains 4 write ops and loses 1 read op"."""
    gained = [op for path, op in after.items() if path not in before]
    lost = [op for path, op in before.items() if path not in after]
    parts = [f"{verb} {_kinds(ops)}" for verb, ops in (("gains", gained), ("loses", lost)) if ops]
    return " and ".join(parts)


def _kinds(ops: list[CatalogOp]) -> str:
    writes = sum(op.is_write for op in ops)
    counts = [
        _count(number, f"{kind} op") for number, kind in ((writes, "write"), (len(ops) - writes, "read")) if number
    ]
    return " and ".join(counts)


def _catalog(variant: str) -> Catalog:
    return catalogs.live() if variant == LIVE else catalogs.get(variant)


def _named(variant: str) -> str:
    return variant[:12] if len(variant) == 64 else variant


def _users(number: int) -> str:
    """Describe the users that a change was evaluated for: all seen last week, or the latest up to the limit."""
    return f"the latest {number:,} users" if number == people.MOST else f"last week's {_count(number, 'user')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
