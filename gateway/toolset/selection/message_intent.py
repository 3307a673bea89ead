"""Detect what a message asks for, clause by clause: to read, to create, change or delete, or nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.toolset.selection import request_words
from gateway.toolset.selection.request_words import ENGLISH, LanguageWords, load_shared
from registry.search import intent

MAX_CLAUSES = 12
VERB_WINDOW = 5  # words after the opening of a request in which its verb is expected
MAX_THANKS = 6  # words of thanks, such as for your help with this
MAX_KIND = 3  # words that go with thanks and are not known
MAX_SETTLED = 3  # words of a statement that may begin as a question does: ist erledigt
MAX_SHORT = 4  # words of a message that is too short to stand alone

_SUBJECTS = frozenset(("i", "we", "you", "he", "she", "it", "they", "to", "a", "an", "the", "my", "our", "your"))
_DIGIT = re.compile(r"[0-9]")
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
    yes or no. `is_chat`: it asks for nothing. `asks`: a question or a verb such as show says that it reads.
    `translation`: English names of what its words mean.
    """

    intent: Intent
    is_sure: bool
    actions: frozenset[str] = frozenset()
    is_agreement: bool = False
    is_chat: bool = False
    asks: bool = False
    is_question: bool = False  # it ends with a question mark
    is_follow_up: bool = False
    is_known_language: bool = True
    translation: str = ""
    content: str = ""  # without the function words of another language, which may mean something in English
    is_english: bool = False
    is_negative: bool = False  # it denies something
    parts: tuple[str, ...] = ()  # clauses that ask for something

    @property
    def search_text(self) -> str:
        """What a search looks for: the English words of a message in another language; empty for the message itself."""
        return f"{self.content} {self.translation}" if self.is_english else self.translation


@dataclass(frozen=True, slots=True)
class _Clause:
    """What one clause asks for: a read, a write with the actions that its verb means, chat, agreement, or unknown.

    A phrase without a verb ("all open tasks") is a read too, unless the conversation says otherwise.
    """

    kind: str
    actions: frozenset[str] = frozenset()
    is_weak: bool = False  # a write by words in the middle, which may as well explain a question before it


REPORT = frozenset((intent.CREATE, intent.UPDATE))  # what a statement without a verb of a request may ask for
_READ, _PHRASE, _WRITE, _CHAT, _AGREES, _UNKNOWN = "read", "phrase", "write", "chat", "agrees", "unknown"


def detect_message_intent(message: str, earlier: str = "") -> MessageIntent:
    """Return what a message asks for. A message without a known verb may want anything.

    `earlier` is what the same user wrote before, which tells the language of a few words.
    """
    text = request_words.join_words(message)
    language = request_words.detect_language(text, request_words.join_words(earlier))
    if language is None:
        return MessageIntent(Intent.READ, is_sure=False, is_known_language=False, content=text)
    parts = _split(message, language)
    clauses = _drop_explanations([(_classify(part, language, is_question=asks), asks) for part, asks in parts])
    kinds = {clause.kind for clause in clauses}
    actions = frozenset[str]().union(*(clause.actions for clause in clauses))
    is_chat = kinds == {_CHAT} or _only_greets(parts, clauses, language)
    wanted, is_sure = (Intent.READ, True) if is_chat else _join_kinds(kinds, has_verb=bool(actions))
    requests = zip(parts, clauses, strict=True)
    return MessageIntent(
        wanted,
        is_sure,
        actions=actions,
        is_agreement=bool(kinds) and kinds <= {_AGREES, _CHAT} and _AGREES in kinds,
        is_chat=is_chat,
        asks=_READ in kinds,
        is_question=any(asks for _, asks in parts),
        is_follow_up=bool(language.follow_up.search(text)) or len(text.split()) <= MAX_SHORT,
        content=language.drop_function_words(text),
        translation=language.translate(text),
        is_english=language.code == ENGLISH,
        is_negative=bool(language.negative.search(text)),
        parts=tuple(part for (part, _), clause in requests if clause.kind not in (_CHAT, _AGREES)),
    )


def _join_kinds(kinds: set[str], *, has_verb: bool) -> tuple[Intent, bool]:
    """Return what the clauses of a message want together, and whether that is sure."""
    reads = not kinds.isdisjoint((_READ, _PHRASE))
    if _WRITE in kinds:
        return (Intent.MIXED if reads else Intent.WRITE), has_verb
    if reads:
        return Intent.READ, _UNKNOWN not in kinds
    if _UNKNOWN in kinds or _AGREES in kinds:
        return Intent.MIXED, False
    return Intent.READ, True


def _only_greets(parts: Sequence[tuple[str, bool]], clauses: Sequence[_Clause], language: LanguageWords) -> bool:
    """Whether a message begins with thanks and goes on with a few words that ask for nothing: "thanks, very kind"."""
    if not clauses or clauses[0].kind != _CHAT:
        return False
    rest = [text for (text, _), clause in zip(parts, clauses, strict=True) if clause.kind != _CHAT]
    if any(clause.kind not in (_CHAT, _UNKNOWN) for clause in clauses) or any(map(_DIGIT.search, rest)):
        return False
    return sum(len(text.split()) for text in rest) <= MAX_KIND and not any(map(language.follow_up.search, rest))


def _split(message: str, language: LanguageWords) -> list[tuple[str, bool]]:
    """Return the clauses of a message as joined words, and whether each ends with a question mark.

    A conjunction splits only before a verb of a request or a question: "pens and paper" is one thing. What follows a
    colon is the content of a request, unless it is a question: "new task: call the plumber".
    """
    parts: list[tuple[str, bool]] = []
    for sentence, is_after_colon in _list_sentences(message):
        text = request_words.join_words(sentence)
        start, is_question = 0, sentence.rstrip().endswith("?")
        if is_after_colon and not is_question and _is_request(parts[-1:], language):
            continue
        for conjunction in load_shared()["conjunction"].finditer(text):
            rest = _strip_fillers(text[conjunction.end() :].lstrip())
            if conjunction.start() > start and _begins_request(rest, language):
                parts.append((text[start : conjunction.start()], is_question))
                start = conjunction.end()
        parts.append((text[start:], is_question))
    return [(text.strip(), is_question) for text, is_question in parts if text.strip()][:MAX_CLAUSES]


def _list_sentences(message: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a message and what is between commas, each with whether it follows a colon."""
    start, is_after_colon = 0, False
    for end in _SENTENCE.finditer(message):
        yield message[start : end.start()], is_after_colon
        start, is_after_colon = end.end(), ":" in message[max(end.start() - 1, 0) : end.end()]
    yield message[start:], is_after_colon


def _is_request(parts: Sequence[tuple[str, bool]], language: LanguageWords) -> bool:
    """Whether the last of some clauses asks for a change, or may do so."""
    return any(_classify(text, language, is_question=asks).kind in (_WRITE, _UNKNOWN) for text, asks in parts)


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
    if not is_question and language.removal.search(text):
        return _Clause(_WRITE, frozenset((intent.DELETE, intent.UPDATE)))
    text = _strip_fillers(text)
    if language.wish.search(text):
        return _Clause(_WRITE, frozenset((intent.UPDATE,)))
    if opening := language.opening.match(text):
        rest = text[opening.end() :].strip()
        window = len(rest.split()) if language.has_verb_anywhere else VERB_WINDOW
        if not shared["article"].match(rest) and (actions := _find_actions(rest, language, window=window)):
            return _classify_verb(actions)
        if language.question.match(rest) or shared["read_noun"].match(rest):
            return _Clause(_READ)
        return _Clause(_WRITE if language.change.search(rest) else _UNKNOWN)
    if not is_question and len(text.split()) <= MAX_SETTLED and language.settled.search(text):
        return _Clause(_WRITE, frozenset((intent.UPDATE,)))
    is_told = not is_question and bool(language.change.match(text) or shared["negation"].match(text))
    asked = _strip(text, language.preposition)
    may_ask_yes_no = is_question or language.code == ENGLISH
    if not is_told and (language.question.match(asked) or (may_ask_yes_no and language.yes_no.match(asked))):
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
        return _Clause(_WRITE, REPORT, is_weak=True)
    if language.change.search(text):
        return _Clause(_WRITE, is_weak=True)
    if is_question:
        return _Clause(_READ)
    is_phrase = shared["noun_phrase"].match(text) and not (
        language.follow_up.search(text) or shared["auxiliary"].search(text) or _DIGIT.search(text)
    )
    if shared["everything"].match(text) or is_phrase:
        return _Clause(_PHRASE)
    return _Clause(_UNKNOWN) if text else _Clause(_AGREES)


def _drop_explanations(clauses: Sequence[tuple[_Clause, bool]]) -> list[_Clause]:
    """Return the clauses, without the write of one that explains a read: "what did we agree on, it must be in a note".

    With each clause, `clauses` says whether it ends with a question mark: what follows that explains nothing, and what
    comes before it only leads to it.
    """
    kept: list[_Clause] = []
    was_asked = True
    for clause, is_question in clauses:
        explains = clause.is_weak and not was_asked and kept[-1].kind in (_READ, _PHRASE)
        kept.append(_Clause(kept[-1].kind) if explains else clause)
        was_asked = is_question
    if was_asked and kept[-1:] and kept[-1].kind == _READ:  # what comes before a question leads to it
        return [_Clause(_READ) if clause.is_weak else clause for clause in kept]
    return kept


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
