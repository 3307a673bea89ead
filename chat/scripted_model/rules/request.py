"""A free message with what earlier turns add to it: the rows that were shown, and what the user replies to."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from chat.scripted_model.conversation import ScriptedConversation
from chat.scripted_model.dates import Days
from chat.scripted_model.intents import ScriptedIntent, find_action, parse_intent, read_changes, read_words
from chat.scripted_model.outcomes import ScriptedOutcome, is_write
from chat.scripted_model.rows import Row, read_rows

_LISTED = re.compile(r"^(?:-|\d\.) \*\*([^*\n]{1,300})\*\*", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*")
_ORDINALS = (
    re.compile(r"\b(first|1st)\b|^#?1\b|\bnumber (1|one)\b"),
    re.compile(r"\b(second|2nd)\b|^#?2\b|\bnumber (2|two)\b"),
    re.compile(r"\b(third|3rd)\b|^#?3\b|\bnumber (3|three)\b"),
)
_LAST = re.compile(r"\blast( one)?[.?!]*$")
_THIS_TASK = re.compile(r"\bthis task\b")  # the one that the user looks at, whatever else was shown
_PRONOUN = re.compile(r"\b(it|its|that|this|that one|this one)\b")
_YES = re.compile(r"^(yes|yep|yeah|ok|okay|sure|please do|do it|go ahead|correct|right)\b", re.IGNORECASE)
_NO = re.compile(r"^(no|nope|cancel|never mind|stop|don.t)\b", re.IGNORECASE)
# The questions that the plans ask.
_QUESTION = re.compile(r"\b(Which|What should|Shall I|Do you mean|When is)\b[^?\n]*\?")
_WORD = re.compile(r"\w+")
_FOLLOW_UP = re.compile(
    r"^(?:and|or|then|also)\b[, ]*(?:what about |how about |for |on )?|^(?:what|how) about ", re.IGNORECASE
)
_INSTEAD = re.compile(r"\binstead\b", re.IGNORECASE)
_ABOUT_KNOWN_ROWS = ("details", "update", "delete", "schedule")  # actions of an intent
_ABOUT_ONE_ROW = ("create", "update", "get", "schedule")  # actions of an op
_TURNS_LOOKED_BACK = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What the user wants now. `row` is the row that they chose, `agreed` whether they said yes to a question."""

    intent: ScriptedIntent
    shown_rows: tuple[Row, ...]
    row: Row | None = None
    agreed: bool = False
    question: str = ""  # what they reply to
    place: Row | None = None  # the project that they look at
    offered_starts: tuple[str, ...] = ()  # of the free times in the previous answer


class Declined(Exception):
    """The user said no to a question."""


def find_undecided(conversation: ScriptedConversation) -> ScriptedOutcome | None:
    """Return the call that the user was asked about and agrees to in words. Raises Declined if they say no.

    Once it ran, the chat may tell in other words that they were asked.
    """
    asked = next((each for turn in conversation.earlier[-1:] for each in turn.outcomes[::-1]), None)
    ran = next(iter(conversation.current.outcomes), None)
    if asked is not None and asked.is_undecided:
        outcome = asked
    elif ran is not None and is_write(ran.op) and not _QUESTION.search(conversation.last_text):
        outcome = ran
    else:
        return None
    message = conversation.current.message.strip()
    if _NO.search(message) and not _INSTEAD.search(message):
        raise Declined
    agreed = _YES.search(message)
    wanted = find_action(message[agreed.end() :].lstrip(" ,.!")) if agreed else None
    return outcome if agreed and wanted in (None, outcome.op.rpartition(".")[2]) else None


def get_place(conversation: ScriptedConversation) -> Row | None:
    """Return the project that the user looks at."""
    return Row("project", conversation.project[1], conversation.project[0], {}) if conversation.project else None


def read_request(conversation: ScriptedConversation, days: Days) -> Request | None:
    """Return the request of the current turn, or None if no rule knows it. Raises Declined."""
    request = _read_request(conversation, days)
    if request is None:
        return None
    return replace(request, place=get_place(conversation), offered_starts=_list_offered_starts(conversation))


def _read_request(conversation: ScriptedConversation, days: Days) -> Request | None:
    message = conversation.current.message.strip()
    shown = list_shown_rows(conversation)
    if _QUESTION.search(conversation.last_text):
        if _NO.search(message) and not _INSTEAD.search(message):
            raise Declined
        if reply := _read_reply(conversation, message, shown, days):
            return reply
    intent = _read_follow_up(conversation, message, days) or parse_intent(message, days)
    if intent is None:
        return None
    return Request(intent, tuple(shown), row=_find_known_row(intent, conversation, shown))


def _read_follow_up(conversation: ScriptedConversation, message: str, days: Days) -> ScriptedIntent | None:
    """Return the last intent with another day, time or project: and tomorrow? And the kitchen? At 14:00 instead."""
    base = _find_last_intent(conversation, days)
    return _apply_follow_up(base, message, days) if base else None


def _apply_follow_up(base: ScriptedIntent, message: str, days: Days) -> ScriptedIntent | None:
    lead = _FOLLOW_UP.match(message)
    if find_action(message) not in (None, "details") or not (lead or _INSTEAD.search(message)):
        return None
    rest = message[lead.end() :] if lead else message
    changed = days.replace_times(base.message, rest)
    if changed != base.message:
        return parse_intent(changed, days)
    if read_ordinal(rest) is not None and base.action in _ABOUT_KNOWN_ROWS:
        return replace(base, message=rest, title="", words="")
    words = read_words(rest)
    if not words or base.action != "list" or find_action(message) == "details":
        return None
    return replace(base, project=words, words="")


def _read_reply(conversation: ScriptedConversation, message: str, shown: list[Row], days: Days) -> Request | None:
    """Return the request that a reply completes: the last one, with the row or the change that the reply names."""
    agreed = bool(_YES.search(message))
    own = None if agreed else parse_intent(message, days)
    chosen = _find_by_ordinal(message, shown) or _find_by_words(message, shown)
    if own is not None and own.action != "list":
        return None
    base = _find_last_intent(conversation, days)
    if base is None or (own is not None and chosen is None):
        return None
    if chosen is None and len(shown) == 1:
        chosen = shown[0]
    if base.action == "update":
        base = replace(base, changes=base.changes | read_changes(message, days))
    if chosen is None and not agreed:
        base = _complete_intent(base, message.strip(' .!“”"'), conversation.last_text)
    return Request(base, tuple(shown), row=chosen, agreed=agreed, question=conversation.last_text)


def _complete_intent(base: ScriptedIntent, reply: str, question: str) -> ScriptedIntent:
    """Return an intent with what was missing: a new title, a time, a project, or else the title of the row."""
    if base.action != "create" or "be called?" in question:
        return replace(base, title=reply)
    if question.startswith("When is"):
        return replace(base, message=f"{base.message} {reply}")
    return replace(base, project=reply)


def _find_last_intent(conversation: ScriptedConversation, days: Days) -> ScriptedIntent | None:
    """Return the intent of the latest message that was not a reply, with what replies and follow-ups added."""
    recent = conversation.earlier[-_TURNS_LOOKED_BACK:]
    for at, turn in reversed(list(enumerate(recent))):
        if intent := parse_intent(turn.message, days):
            for question, reply in pairwise(recent[at:]):
                if intent.action == "create":
                    intent = _complete_intent(intent, reply.message, question.text)
                else:
                    intent = _apply_follow_up(intent, reply.message, days) or intent
            return intent
    return None


def list_shown_rows(conversation: ScriptedConversation) -> list[Row]:
    """Return the rows of the latest answer with rows, in its order: those of its list, else those in bold.

    A row whose result is no longer in the conversation has an empty id; it is found again by its title.
    """
    known = _list_all_rows(conversation)
    for turn in reversed(conversation.earlier[-_TURNS_LOOKED_BACK:]):
        own = [row for outcome in turn.outcomes for row in read_rows(outcome)]
        # Events may have the titles of their tasks. What the turn itself read comes first.
        by_title = {row.title: row for row in (*sorted(known, key=lambda row: row.kind != "event"), *own)}
        if listed := dict.fromkeys(_LISTED.findall(turn.text)):
            return [by_title.get(title) or Row("", "", title, {}) for title in listed]
        if named := [by_title[title] for title in dict.fromkeys(_BOLD.findall(turn.text)) if title in by_title]:
            return named
    return []


def _list_all_rows(conversation: ScriptedConversation) -> list[Row]:
    """Return the rows in the results of earlier turns, oldest first, without those that were deleted."""
    deleted = _list_deleted_ids(conversation)
    outcomes = (outcome for turn in conversation.earlier for outcome in turn.outcomes)
    return [row for outcome in outcomes for row in read_rows(outcome) if row.id not in deleted]


def _list_deleted_ids(conversation: ScriptedConversation) -> set[str]:
    outcomes = (outcome for turn in conversation.earlier for outcome in turn.outcomes)
    deletes = (outcome for outcome in outcomes if outcome.ok and outcome.op.endswith(".delete"))
    return {row.id for outcome in deletes for row in read_rows(outcome)}


def _list_offered_starts(conversation: ScriptedConversation) -> tuple[str, ...]:
    """Return when the free times of the previous turn start."""
    outcomes = conversation.earlier[-1].outcomes if conversation.earlier else []
    slots = next((outcome.result.get("slots") for outcome in outcomes if outcome.op == "cal.slot.find"), None)
    return tuple(str(slot.get("start")) for slot in slots or () if isinstance(slot, dict))


def _find_known_row(intent: ScriptedIntent, conversation: ScriptedConversation, shown: list[Row]) -> Row | None:
    """Return the row of earlier turns that a message means: by title, by number, as “it”, or by its words."""
    if intent.action not in _ABOUT_KNOWN_ROWS:
        return None
    shown = [row for row in shown if _may_be(row, intent.kind)]
    if conversation.task and _THIS_TASK.search(intent.message.lower()):
        return Row("task", conversation.task[1], conversation.task[0], {})
    if intent.title:
        known = reversed([row for row in _list_all_rows(conversation) if _may_be(row, intent.kind)])
        return next((row for row in known if row.title.casefold() == intent.title.casefold()), None)
    if intent.action != "schedule" and (row := _find_by_ordinal(intent.message, shown)):
        return row  # of what is to be scheduled, it is the free time that has a number
    if intent.words:
        return _find_by_words(intent.words, shown)
    return _find_subject(conversation, shown) if _PRONOUN.search(intent.message.lower()) else None


def _may_be(row: Row, kind: str) -> bool:
    """Return whether a row can be meant. An event has the title of its task, and is meant only as an event."""
    return row.kind in ("", kind) if kind else row.kind != "event"


def _find_subject(conversation: ScriptedConversation, shown: list[Row]) -> Row | None:
    """Return the row that the previous turn was about: the one that it wrote or got, or the only one that it showed.

    Otherwise, it is the task that the user looks at.
    """
    deleted = _list_deleted_ids(conversation)
    outcomes = conversation.earlier[-1].outcomes if conversation.earlier else []
    about_one = [each for each in outcomes if each.ok and each.op.rpartition(".")[2] in _ABOUT_ONE_ROW]
    for outcome in reversed(about_one):
        if rows := [row for row in read_rows(outcome) if row.id not in deleted]:
            return rows[0]
    if len(shown) == 1:
        return shown[0]
    return Row("task", conversation.task[1], conversation.task[0], {}) if conversation.task and not shown else None


def read_ordinal(message: str) -> int | None:
    """Return the index that a message names, -1 for the last one."""
    lower = message.lower()
    if _LAST.search(lower):
        return -1
    return next((at for at, pattern in enumerate(_ORDINALS) if pattern.search(lower)), None)


def _find_by_ordinal(message: str, shown: list[Row]) -> Row | None:
    at = read_ordinal(message)
    return shown[at] if shown and at is not None and at < len(shown) else None


def _find_by_words(text: str, shown: list[Row]) -> Row | None:
    """Return the only row with all words of a text in its title, or whose title is the text."""
    words = set(_WORD.findall(text.lower()))
    if not words:
        return None
    exact = [row for row in shown if set(_WORD.findall(row.title.lower())) == words]
    partial = [row for row in shown if words <= set(_WORD.findall(row.title.lower()))]
    matches = exact or partial
    return matches[0] if len(matches) == 1 else None
