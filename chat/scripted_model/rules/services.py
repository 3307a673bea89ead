"""Plans of requests about connected services: a read that the help names, and its rows as a table."""

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from chat.scripted_model.conversation import ScriptedConversation
from chat.scripted_model.dates import Days
from chat.scripted_model.intents import ScriptedIntent, read_words
from chat.scripted_model.outcomes import HELP, KINDS, ScriptedOutcome
from chat.scripted_model.plans import ScriptedCall, run
from chat.scripted_model.rules.request import Request
from chat.scripted_model.rules.service_tables import UUID, describe_result, find_rows, format_fields
from core.text.english import QUESTION_WORDS, REQUEST_VERBS

WORKSPACE = ("onto.", "cal.")  # ops that the other rules know
MAX_QUERY = 300  # characters
MAX_CANDIDATES = 4  # ops that may be meant
WRITES_LEFT_OUT = (
    "`{op}` can do that, but as the scripted model I only read from connected services, so nothing was changed. A real "
    "model fills in its arguments: set `LLM_BASE_URL`."
)
NOT_FILTERED = "This is everything: as the scripted model, I did not filter by “{words}”."
_OWN_NAMES = {*KINDS, "event", "calendar", "todo"}
_ACTIONS = ("list", "details", "create", "update", "delete", "schedule", "refuse", "refuse_many")
_SEARCH_ARGUMENTS = ("q", "query", "search", "text", "term", "name", "words")
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„]{1,300})[”\"»“]")
_POLITE = re.compile(
    r"^(?:(?:and|ok|then|please|can you|could you|would you|i want to|i would like to|let's)\b[ ,]*)+", re.IGNORECASE
)
_ID = re.compile(rf"{UUID.pattern}|\b(?:[a-z]{{1,8}}-\d{{1,12}}|\d{{1,12}})\b", re.IGNORECASE)

Lookup = Generator[list[ScriptedCall], list[ScriptedOutcome], str | None]


@dataclass(frozen=True, slots=True)
class _ServiceOp:
    """An op that a request may mean. `args` are the signatures by name, None if the search did not show them."""

    path: str
    summary: str
    kind: str
    score: int
    args: dict[str, str] | None

    @property
    def entity(self) -> str:
        return self.path.split(".")[-2].replace("_", " ") if self.path.count(".") else self.path


def is_about_services(request: Request) -> bool:
    """Return whether a request may be about a connected service: it names nothing that only the workspace has."""
    intent = request.intent
    if intent.action not in _ACTIONS or request.row is not None or request.question:
        return False
    return bool(_list_words(intent.message)) and not _names_workspace(intent)


def describe_shown_row(request: Request, conversation: ScriptedConversation) -> str:
    """Return all fields of the only row of a service in earlier answers that has the words of a request for details.

    Empty if there is none, as for rows of the workspace.
    """
    words = set(_WORD.findall(request.intent.query.lower()))
    if request.intent.action != "details" or request.row is not None or not words:
        return ""
    outcomes = (each for turn in reversed(conversation.earlier) for each in turn.outcomes)
    for outcome in outcomes:
        if outcome.ok and outcome.op != HELP and not outcome.op.startswith(WORKSPACE):
            rows = find_rows(outcome.result) or []
            matches = [row for row in rows if words <= set(_WORD.findall(" ".join(map(str, row.values())).lower()))]
            if len(matches) == 1:
                return f"From `{outcome.op}`:\n\n{format_fields(matches[0])}"
    return ""


def _names_workspace(intent: ScriptedIntent) -> bool:
    """Return whether a message has a word of the workspace; an appointment may be of any service."""
    words = map(_stem, _WORD.findall(_QUOTED.sub("", intent.message)))
    return bool(intent.kind) and not _OWN_NAMES.isdisjoint(words)


def plan_service(message: str, days: Days) -> Lookup:
    """Run the read of a connected service that a message means, and return its rows as a table.

    Returns None if the help names no op for its words.
    """
    words = _list_words(message)
    if not words:
        return None
    search = yield from run(HELP, query=message[:MAX_QUERY])
    found = _rank_ops(search.result, words)
    if not found:
        return None
    if _asks_to_write(message, found[0]):
        write = next((op.path for op in found if op.kind == "write"), "")
        return WRITES_LEFT_OUT.format(op=write) if write else None
    return (yield from _plan_read([op for op in found if op.kind == "read"][:MAX_CANDIDATES], message, days))


def _plan_read(ops: list[_ServiceOp], message: str, days: Days) -> Lookup:
    best: tuple[int, int, ScriptedCall, _ServiceOp] | None = None
    lacking: tuple[_ServiceOp, list[str]] | None = None
    for op in ops:
        if best and best[0] > op.score:
            break  # the others fit less well
        signatures = op.args
        if signatures is None:
            page = yield from run(HELP, path=op.path)
            signatures = page.result.get("args") if page.ok else None
        args, missing = _fill_args(signatures if isinstance(signatures, dict) else {}, op, message, days)
        if missing:
            lacking = lacking or (op, missing)
        elif best is None or len(args) > best[1]:
            best = op.score, len(args), ScriptedCall(op.path, args), op
    if best:
        _, used, call, op = best
        outcome = (yield [call])[0]
        text = describe_result(outcome, op.entity)
        ignored = "" if used else _list_rest(message, f"{op.path} {op.summary}")
        return f"{text}\n\n{NOT_FILTERED.format(words=ignored)}" if ignored and find_rows(outcome.result) else text
    if lacking:
        op, missing = lacking
        return f"`{op.path}` needs {' and '.join(f'`{name}`' for name in missing)}. Name it in your message."
    return None


def _rank_ops(page: dict[str, Any], words: set[str]) -> list[_ServiceOp]:
    """Return the ops of services on a page of help that have a word of the message in their path, best first.

    An op without one fits if its summary has all the words.
    """
    ops = []
    items = page.get("items")
    for item in items if isinstance(items, list) else ():
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str) or path.startswith(WORKSPACE) or "kind" not in item:
            continue
        in_path = words & set(map(_stem, _WORD.findall(path.replace("_", " "))))
        in_summary = words & set(map(_stem, _WORD.findall(str(item.get("summary")))))
        if in_path or in_summary == words:
            args = item.get("args")
            score = 2 * len(in_path) + len(in_summary - in_path)
            args = args if isinstance(args, dict) else None
            ops.append(_ServiceOp(path, str(item.get("summary")), str(item["kind"]), score, args))
    return sorted(ops, key=lambda op: -op.score)


def _asks_to_write(message: str, best: _ServiceOp) -> bool:
    """Return whether a message asks for a change: its first word says so, or else the op that fits best."""
    word, _ = _split_verb(message)
    if verb := REQUEST_VERBS.get(word):
        return verb != "read"
    return best.kind == "write" and word not in QUESTION_WORDS


def _fill_args(
    signatures: dict[str, str], op: _ServiceOp, message: str, days: Days
) -> tuple[dict[str, Any], list[str]]:
    """Return the args that a message names, and the required arguments that it does not."""
    args: dict[str, Any] = {}
    missing: list[str] = []
    dates = [name for name, signature in signatures.items() if _read_type(signature) == "date"]
    for name, signature in signatures.items():
        required = str(signature).endswith("required")
        value = _read_value(name, str(signature), message, required=required)
        if value is None and dates == [name]:
            value = days.parse_day(message)
        if value is None and required and name in _SEARCH_ARGUMENTS and _read_type(signature) == "string":
            value = _list_rest(message, op.path) or None
        if value is not None:
            args[name] = value
        elif required:
            missing.append(name)
    return args, missing


def _read_value(name: str, signature: str, message: str, *, required: bool) -> Any:
    kind = _read_type(signature)
    if "|" in kind:
        lower = f" {' '.join(_WORD.findall(message.lower()))} "
        return next((each for each in kind.split("|") if f" {each.lower().replace('_', ' ')} " in lower), None)
    if kind == "string" and name in _SEARCH_ARGUMENTS and (quoted := _QUOTED.search(message)):
        return quoted[1]
    if not required or not (name == "id" or name.endswith(("_id", "Id", "number", "code"))):
        return None
    found = (UUID if kind == "uuid" else _ID).search(message)
    if found is None:
        return None
    if kind in ("integer", "number"):
        return int(found[0]) if found[0].isdigit() else None
    return found[0]


def _read_type(signature: str) -> str:
    """Return the type of a signature such as: integer = 20, max 50."""
    return str(signature).partition(",")[0].partition(" = ")[0].strip()


def _split_verb(message: str) -> tuple[str, str]:
    """Return the first word of a message that is not only polite, in lower case, and what follows it."""
    rest = _POLITE.sub("", message.strip())
    first = _WORD.search(rest)
    return (first[0].lower(), rest[first.end() :]) if first else ("", rest)


def _list_names(message: str) -> list[str]:
    """Return the words of a message that may name something, without its verb, fillers and titles in quotes."""
    first, rest = _split_verb(_QUOTED.sub("", message))
    text = rest if first in REQUEST_VERBS else f"{first} {rest}"
    return [word for word in _WORD.findall(read_words(text, "project")) if len(word) > 2]


def _list_words(message: str) -> set[str]:
    return set(map(_stem, _list_names(message)))


def _list_rest(message: str, about_op: str) -> str:
    """Return the words of a message that are not about the op: what to search for."""
    own = set(map(_stem, _WORD.findall(about_op.replace("_", " "))))
    return " ".join(word for word in _list_names(message) if _stem(word) not in own)


def _stem(word: str) -> str:
    """Return a word in lower case and in the singular."""
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
