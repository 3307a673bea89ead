"""What a free message asks for: an action, a kind of row, which row, and what to change. By words, without AI."""

import re
from dataclasses import dataclass, field
from typing import Any

from chat.scripted_model.dates import CLOCK_TIME, Days, read_time
from chat.scripted_model.vocabulary import (
    ACTION_PATTERNS,
    DUE,
    FILLER_WORDS,
    KIND_PATTERNS,
    MOST,
    OPEN,
    PRIORITY,
    PRIORITY_BY_WORD,
    SEARCH,
    STATE_PATTERNS,
    TO_DO,
)

_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„]{1,300})[”\"»“]")
_RENAME = re.compile(r"\b(?:rename|change the (?:title|name))\b.*?\b(?:to|into)\s+(.+)$", re.IGNORECASE)
_IN_PROJECT = re.compile(
    r"\b(?:in|into|to|of|for|from|on) (?:the |my |project ){0,3}([^,.?!]{3,80}?)(?: project)?[.?!]{0,3}$",
    re.IGNORECASE,
)
_ON_MY_PLATE = re.compile(r"\bon my plate\b", re.IGNORECASE)  # no project
_DATE_WORDS = re.compile(r"\b(due|until|by|postpone|move|deadline|date)\b")
_DUE_WORDS = re.compile(r"\b(?:due|until|by|to)\s+((?:next |this )?[\w ]{3,30}?)[.?!]*$")
_SHIFT = re.compile(r"\bby (an?|one|two|three|\d{1,3}) (day|week)s?\b")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_CONTENT = re.compile(r"[.,;]? (?:it says|saying|with (?:the )?(?:text|content))\b:? *(.+)$|: (.+)$", re.IGNORECASE)
_WHAT_ABOUT = re.compile(r"^(?:and )?(?:what|how) about (?!it\b|this\b|that\b)")
_PRIORITY_OF = re.compile(r"\bpriority of\b", re.IGNORECASE)
_NEW_VALUE = re.compile(r"\b(?:to|as|due|priority|until|by)\b", re.IGNORECASE)
_CHANGING = ("update", "create")
_WHEN = re.compile(r"\b(?:into|tomorrow|today|next|on|at|for|this)\b.*$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_][\w’'-]*")
SHIFT_DAYS = "shift_days"  # a change: by how much to move the date
OPEN_STATES = ("todo", "in_progress", "blocked")
_MAX_CHARS = 2_000  # of a message; the rest is not read
_SHORT = 6  # words of a message without a verb, such as: high-priority tasks?


@dataclass(slots=True)
class ScriptedIntent:
    """A message as the rules understand it."""

    action: str
    kind: str
    message: str
    title: str = ""  # quoted
    words: str = ""  # what is left of the message without verbs and fillers
    project: str = ""  # the project that the message names, perhaps
    changes: dict[str, Any] = field(default_factory=dict)
    content: str = ""  # of a document to create

    @property
    def query(self) -> str:
        return self.title or self.words


def parse_intent(message: str, days: Days) -> ScriptedIntent | None:
    """Return what a message asks for, or None if no rule knows it."""
    text = " ".join(message[:_MAX_CHARS].split())
    lower = _QUOTED.sub("", text).lower().strip()
    action = _find_name(ACTION_PATTERNS, lower)
    kind = _find_kind(lower, action)
    if action is None:
        if not kind or len(lower.split()) > _SHORT:
            return None
        action = "list"
    quoted = _QUOTED.findall(text)
    if action == "details" and kind and not quoted and _WHAT_ABOUT.search(lower) and not read_words(lower):
        action = "list"  # what about goals?
    if action == "list" and not (kind or quoted or SEARCH.search(lower) or read_list_filters(lower)):
        return None
    content = _CONTENT.search(text) if action == "create" and kind == "document" else None
    text = text[: content.start()] if content else text
    changes = read_changes(text, days) if action in _CHANGING else {}
    return ScriptedIntent(
        action=action,
        kind=kind,
        message=text,
        title=_read_title(text, quoted),
        words=_read_target(text, action, kind, changes),
        project=_read_project(text) if action in ("create", "list") else "",
        changes=changes,
        content=(content[1] or content[2]).strip() if content else "",
    )


def find_action(message: str) -> str | None:
    """Return the action that a message names."""
    return _find_name(ACTION_PATTERNS, _QUOTED.sub("", message).lower().strip())


def read_list_filters(message: str) -> dict[str, Any]:
    """Return the filters of a list of tasks that a message names; open tasks if it speaks of priority or of duties."""
    lower = message.lower()
    filters: dict[str, Any] = {}
    if match := PRIORITY.search(lower):
        number = _read_priority(match)
        filters |= {"priority": [1, 2] if number <= 2 else [number], "sort_by": "priority"}
    if "overdue" in lower or "late" in lower.split():
        filters |= {"overdue": True, "sort_by": "due_at"}
    states = [name for name, pattern in STATE_PATTERNS.items() if pattern.search(lower)]
    if states:
        filters["state_key"] = states
    elif "priority" in filters or OPEN.search(lower) or TO_DO.search(lower) or MOST.search(lower):
        filters["state_key"] = [*OPEN_STATES]
        filters.setdefault("sort_by", "priority")
    return filters


def read_changes(text: str, days: Days) -> dict[str, Any]:
    """Return the new values that a message names, by the field names of a task. Quoted titles are not read."""
    lower = _QUOTED.sub("", text).lower()
    if match := _RENAME.search(text):
        quoted = _QUOTED.findall(match[1])
        return {"title": (quoted[-1] if quoted else match[1]).strip(" .!?'")}
    changes: dict[str, Any] = {}
    if match := PRIORITY.search(lower):
        changes["priority"] = _read_priority(match)
    if match := _SHIFT.search(lower):
        changes[SHIFT_DAYS] = int(_NUMBERS.get(match[1]) or match[1]) * (7 if match[2] == "week" else 1)
    elif _DATE_WORDS.search(lower) and (due := _read_due(lower, days)):
        changes["due_at"] = due
    if not changes and (state := _find_name(STATE_PATTERNS, lower)):
        changes["state_key"] = state
    return changes


def _find_kind(lower: str, action: str | None) -> str:
    """Return the kind that a message names: the first in it if it is to be created, else the most likely one."""
    if action == "schedule":
        return "task"
    starts = {name: match.start() for name, pattern in KIND_PATTERNS.items() if (match := pattern.search(lower))}
    if action == "create" and starts:
        return min(starts, key=lambda name: starts[name])
    if not starts and action == "list" and (DUE.search(lower) or TO_DO.search(lower)):
        return "task"
    return next(iter(starts), "")


def _read_title(text: str, quoted: list[str]) -> str:
    """Return the first title in quotes, unless it is the new title."""
    renamed = _RENAME.search(text)
    is_new = renamed and len(quoted) == 1 and quoted[0] in renamed[1]
    return quoted[0].strip() if quoted and not is_new else ""


def _read_due(lower: str, days: Days) -> str:
    """Return a day, with its time if the message names one; else the words for it."""
    day, time = days.parse_day(lower), read_time(lower, CLOCK_TIME)
    return f"{day}T{time}" if day and time else day or _read_due_words(lower)


def _read_due_words(lower: str) -> str:
    """Return a date in words unchanged: the gateway knows more of them, and says what to send."""
    match = _DUE_WORDS.search(lower)
    return match[1] if match and not _find_name(STATE_PATTERNS, match[1]) else ""


def _read_priority(match: re.Match[str]) -> int:
    return int(match[1]) if match[1] else PRIORITY_BY_WORD[match[2] or match[3]]


def _read_project(text: str) -> str:
    match = _IN_PROJECT.search(_ON_MY_PLATE.sub("", text))
    name = match[1].strip("“”\"' ") if match else ""
    return name if read_words(name) else ""


def _read_target(text: str, action: str, kind: str, changes: dict[str, Any]) -> str:
    """Return the words that name the row, without those that say what to do with it."""
    if action == "schedule":
        text = _WHEN.sub("", text)
    elif action == "update" and changes:
        text = _NEW_VALUE.split(_PRIORITY_OF.sub("", text), maxsplit=1)[0]
    return read_words(text, "" if action == "list" else kind)


def read_words(text: str, kind: str = "") -> str:
    """Return the words that are neither fillers nor the kind, or any kind: titles may have words for other kinds."""
    words = (word for word in _WORD.findall(text) if word.lower() not in FILLER_WORDS)
    return " ".join(word for word in words if not _is_kind(word.lower(), kind))


def _is_kind(word: str, kind: str) -> bool:
    patterns = [KIND_PATTERNS[kind]] if kind else KIND_PATTERNS.values()
    return any(pattern.fullmatch(word) for pattern in patterns)


def _find_name(patterns: dict[str, re.Pattern[str]], lower: str) -> str | None:
    return next((name for name, pattern in patterns.items() if pattern.search(lower)), None)
