"""Detect what a message asks for, clause by clause: to read, to create, change or delete, or nothing."""

import re
from dataclasses import dataclass
from enum import StrEnum

from gateway.toolset.selection import request_words
from gateway.toolset.selection.request_words import ENGLISH, LanguageWords, load_shared
from registry.search import intent

MAX_CLAUSES = 12
VERB_WINDOW = 5  # words after the opening of a request in which its verb is expected
MAX_THANKS = 6  # words of thanks, such as for your help with this
MAX_SETTLED = 3  # words of a statement that may begin as a question does: ist erledigt
MAX_SHORT = 4  # words of a message that is too short to stand alone

_SUBJECTS = frozenset(("i", "we", "you", "he", "she", "it", "they", "to", "a", "an", "the", "my", "our", "your"))
_SENTENCE = re.compile(r"(?<=[.!?;:\n])\s+|[,;:\n]+|\s[-–—]+\s|\.{2,}|[()¿¡]+")


class Intent(StrEnum):
    """Whether a message asks to read, to write, or both."""

    READ = "read"
    WRITE = "write"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class MessageIntent:
    """What a message asks for.

    `actions` are the writes it names: create, update, delete. `is_sure`: its words say so. `is_agreement`: it only says
    yes or no. `is_chat`: it asks for nothing. `translation`: the English words for what it says in another language.
    """

    intent: Intent
    is_sure: bool
    actions: frozenset[str] = frozenset()
    is_agreement: bool = False
    is_chat: bool = False
    is_follow_up: bool = False
    is_known_language: bool = True
    translation: str = ""
    parts: tuple[str, ...] = ()  # clauses that ask for something


@dataclass(frozen=True, slots=True)
class _Clause:
    """What one clause asks for: a read, a write with the actions that its verb means, chat, agreement, or unknown."""

    kind: str
    actions: frozenset[str] = frozenset()


_READ, _WRITE, _CHAT, _AGREES, _UNKNOWN = "read", "write", "chat", "agrees", "unknown"


def detect_message_intent(message: str) -> MessageIntent:
    """Return what a message asks for. A message without a known verb may want anything."""
    text = request_words.join_words(message)
    language = request_words.detect_language(text)
    if language is None:
        return MessageIntent(Intent.READ, is_sure=False, is_known_language=False)
    parts = _split(message, language)
    clauses = [_classify(part, language, is_question=asks) for part, asks in parts]
    kinds = {clause.kind for clause in clauses}
    actions = frozenset[str]().union(*(clause.actions for clause in clauses))
    wanted, is_sure = _join_kinds(kinds, has_verb=bool(actions))
    requests = zip(parts, clauses, strict=True)
    return MessageIntent(
        wanted,
        is_sure,
        actions=actions,
        is_agreement=bool(kinds) and kinds <= {_AGREES, _CHAT} and _AGREES in kinds,
        is_chat=kinds == {_CHAT},
        is_follow_up=bool(language.follow_up.search(text)) or len(text.split()) <= MAX_SHORT,
        translation="" if language.code == ENGLISH else language.translate(text),
        parts=tuple(part for (part, _), clause in requests if clause.kind not in (_CHAT, _AGREES)),
    )


def _join_kinds(kinds: set[str], *, has_verb: bool) -> tuple[Intent, bool]:
    """Return what the clauses of a message want together, and whether that is sure."""
    if _WRITE in kinds:
        return (Intent.MIXED if _READ in kinds else Intent.WRITE), has_verb
    if _READ in kinds:
        return Intent.READ, _UNKNOWN not in kinds
    if _UNKNOWN in kinds or _AGREES in kinds:
        return Intent.MIXED, False
    return Intent.READ, True


def _split(message: str, language: LanguageWords) -> list[tuple[str, bool]]:
    """Return the clauses of a message as joined words, and whether each ends with a question mark.

    A conjunction splits only before a verb of a request or a question: "pens and paper" is one thing.
    """
    parts: list[tuple[str, bool]] = []
    for sentence in _SENTENCE.split(message):
        text = request_words.join_words(sentence)
        start, is_question = 0, sentence.rstrip().endswith("?")
        for conjunction in load_shared()["conjunction"].finditer(text):
            rest = _strip_fillers(text[conjunction.end() :].lstrip())
            if conjunction.start() > start and _begins_request(rest, language):
                parts.append((text[start : conjunction.start()], is_question))
                start = conjunction.end()
        parts.append((text[start:], is_question))
    return [part for part in parts if part[0].strip()][:MAX_CLAUSES]


def _begins_request(text: str, language: LanguageWords) -> bool:
    patterns = (language.opening, load_shared()["condition"], *language.actions.values())
    return any(pattern.match(text) for pattern in patterns) or bool(language.change.match(text))


def _classify(text: str, language: LanguageWords, *, is_question: bool) -> _Clause:
    shared = load_shared()
    if language.thanks.match(text) and len(text.split()) <= MAX_THANKS and not _begins_request(text, language):
        rest = _strip(text, language.thanks)
        if not (language.change.search(rest) or language.settled.search(rest) or is_question):
            return _Clause(_CHAT)
    if _is_only(text, language.thanks, language.agree, shared["filler"]):
        return _Clause(_CHAT if language.thanks.search(text) else _AGREES)
    text = _strip_fillers(text)
    if opening := language.opening.match(text):
        rest = text[opening.end() :].strip()
        window = len(rest.split()) if language.has_verb_anywhere else VERB_WINDOW
        if actions := _find_actions(rest, language, window=window):
            return _classify_verb(actions)
        if language.question.match(rest):
            return _Clause(_READ)
        return _Clause(_WRITE if language.change.search(rest) else _UNKNOWN)
    if not is_question and len(text.split()) <= MAX_SETTLED and language.settled.search(text):
        return _Clause(_WRITE, frozenset((intent.UPDATE,)))
    if language.question.match(_strip(text, language.preposition)):
        return _Clause(_READ)
    if is_question and language.has_verb_anywhere:
        return _Clause(_READ)
    is_anywhere = language.has_verb_anywhere or bool(shared["condition"].match(text))
    window = len(text.split()) if is_anywhere and not is_question else 1
    if language.change.match(text):
        return _Clause(_WRITE, _find_actions(text, language, window=window) - {intent.READ})
    if actions := _find_actions(text, language, window=window):
        return _classify_verb(actions)
    if not is_question and language.settled.search(text):
        return _Clause(_WRITE, frozenset((intent.UPDATE,)))
    if language.change.search(text):
        return _Clause(_WRITE)
    if is_question:
        return _Clause(_READ)
    is_phrase = shared["noun_phrase"].match(text) and not (
        language.follow_up.search(text) or shared["auxiliary"].search(text) or shared["time"].search(text)
    )
    if shared["everything"].match(text) or is_phrase:
        return _Clause(_READ)
    return _Clause(_UNKNOWN) if text else _Clause(_AGREES)


def _strip_fillers(text: str) -> str:
    while (rest := _strip(text, load_shared()["filler"])) != text:
        text = rest
    return text


def _strip(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text without the match at its beginning."""
    match = pattern.match(text)
    return text[match.end() :].lstrip() if match else text


def _is_only(text: str, *patterns: re.Pattern[str]) -> bool:
    """Whether a text has nothing but matches of the patterns."""
    for pattern in patterns:
        text = pattern.sub(" ", text)
    return not text.strip()


def _classify_verb(actions: frozenset[str]) -> _Clause:
    return _Clause(_READ) if actions == {intent.READ} else _Clause(_WRITE, actions - {intent.READ})


def _find_actions(text: str, language: LanguageWords, *, window: int) -> frozenset[str]:
    """Return what the first verb among the first words means: create, update, delete or read. Empty without a verb."""
    words = text.split()
    for at in range(min(window, len(words))):
        if at and words[at - 1] in _SUBJECTS:
            continue  # what somebody does is no request
        rest = " ".join(words[at:])
        matches = {
            action: found.end() for action, pattern in language.actions.items() if (found := pattern.match(rest))
        }
        if matches:
            longest = max(matches.values())  # "pull up" reads, "pull" changes
            return frozenset(action for action, end in matches.items() if end == longest)
    return frozenset()
