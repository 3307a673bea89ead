"""Find what a request wants done: which actions, by which verbs, and the part that says it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from core.text.english import (
    ARTICLES,
    AUXILIARIES,
    CLOSED_STATES,
    DETERMINERS,
    MODIFIER_OPENINGS,
    NOUN_LIKE_VERBS,
    OPEN_STATES,
    OPPOSITES,
    PREPOSITIONS,
    QUESTION_OPENINGS,
    READ_VERBS,
    REQUEST_OPENINGS,
    REQUEST_VERBS,
    STOP_WORDS,
    SUBJECTS,
    UNSURE_VERBS,
    WRITE_VERBS,
)
from registry.search import tokenizer
from registry.search.intent import READ

MAX_PHRASE = 10  # words of a request that is only a noun and what describes it
VERB_WINDOW = 4  # significant words of a clause in which its verb is expected
MIN_PLURAL = 4  # letters
_RECIPIENTS = frozenset(("me", "us"))
_NEGATION = "un"
VERBS = frozenset(REQUEST_VERBS) | READ_VERBS | WRITE_VERBS
_MODIFIERS = PREPOSITIONS | MODIFIER_OPENINGS
_BEFORE_NOUNS = (ARTICLES | DETERMINERS | PREPOSITIONS) - {"to"}
_BEFORE_VERBS = SUBJECTS | AUXILIARIES | {"to", "please"}


@dataclass(frozen=True, slots=True)
class RequestIntent:
    """What a request wants done. Without actions, it may want anything."""

    actions: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()  # as written
    certainty: float = 0.0  # the share of its clauses that say what they want
    is_plural: bool = False
    described_by: frozenset[str] = frozenset()  # stems that only describe what a verb is about, such as "with tasks"


def detect_intent(text: str) -> RequestIntent:
    """Return the actions and verbs of a request's clauses."""
    clauses = _split_to_clauses(text)
    heads = [words[: _find_head_end(words)] for words in clauses]
    rests = [
        words[len(head) :] for words, head in zip(clauses, heads, strict=True) if words and words[0] in REQUEST_VERBS
    ]
    found = [_detect_clause_intent(words, is_whole=len(clauses) == 1) for words in clauses]
    return RequestIntent(
        actions=frozenset(action for action, _ in found if action),
        verbs=frozenset(verb for _, verb in found if verb),
        certainty=sum(1 for action, _ in found if action) / len(found),
        is_plural=any(_is_plural(word) for words in clauses for word in words),
        described_by=frozenset(_iter_stems(rests)).difference(_iter_stems(heads)),
    )


def find_heads(text: str) -> list[str]:
    """Return the clauses that begin with a verb, up to their first preposition: "create a project" of "… with tasks".

    What follows says more about what is wanted, often with the words of another op. A clause that is the whole request
    is left out.
    """
    clauses = _split_to_clauses(text)
    heads = []
    for words in clauses:
        end = _find_head_end(words)
        is_part = end < len(words) or len(clauses) > 1
        if is_part and words and words[0] in REQUEST_VERBS and sum(map(_is_significant, words[:end])) > 1:
            heads.append(" ".join(words[:end]))
    return heads


@lru_cache(maxsize=10_000)  # of words in names of ops, and of requests
def list_opposites(verb: str) -> frozenset[str]:
    """Return the verbs that undo what a verb does; none if it is not known to have any."""
    negated = {f"{_NEGATION}{verb}"} if verb in VERBS else set()
    positive = {verb.removeprefix(_NEGATION)} & VERBS if verb.startswith(_NEGATION) else set()
    return OPPOSITES.get(verb, frozenset()) | negated | positive


@lru_cache(maxsize=100)  # a search asks twice
def _split_to_clauses(text: str) -> tuple[Sequence[str], ...]:
    """Return the words of each clause. A single word is one only if it is a verb: book in "find time and book it"."""
    parts = [_drop_opening(tokenizer.split_words(part)) for part in tokenizer.split_clauses(text, min_words=1)]
    clauses = tuple(
        words
        for words in parts
        if sum(map(_is_significant, words)) > 1
        or (words and words[0] in REQUEST_VERBS and _is_verb_first(words[0], words[1:]))
    )
    return clauses if len(clauses) > 1 else (_drop_opening(tokenizer.split_words(text)),)


def _drop_opening(words: Sequence[str]) -> Sequence[str]:
    start = next((index for index, word in enumerate(words) if word not in REQUEST_OPENINGS), len(words))
    return words[start:]


def _detect_clause_intent(words: Sequence[str], *, is_whole: bool) -> tuple[str, str]:
    """Return (action, verb) of a clause; "" for what it does not say."""
    if not words:
        return "", ""
    first, rest = words[0], words[1:]
    if first in QUESTION_OPENINGS and not (rest and rest[0] in ARTICLES):
        return READ, ""
    if first in OPEN_STATES | CLOSED_STATES and rest and _is_plural(rest[0]):
        return READ, ""
    if first in UNSURE_VERBS:
        return (READ if first in REQUEST_VERBS and rest and rest[0] in _RECIPIENTS else ""), first
    if rest and (joined := first + rest[0]) in REQUEST_VERBS:  # set up
        return REQUEST_VERBS[joined], joined
    if _is_verb_first(first, rest):
        return REQUEST_VERBS.get(first, ""), first
    action, verb = next(_iter_later_verbs(words), ("", ""))
    if action:
        return action, verb
    return (READ if is_whole and _is_plural_phrase(words) else ""), ""


def _is_verb_first(word: str, rest: Sequence[str]) -> bool:
    """Return whether the first word is a known verb. A noun is followed by nothing, a preposition or a verb."""
    if word not in REQUEST_VERBS and not list_opposites(word):
        return False
    return word not in NOUN_LIKE_VERBS or (bool(rest) and rest[0] not in _MODIFIERS | AUXILIARIES)


def _iter_later_verbs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (action, verb) of the verbs among the first significant words, but not of nouns and participles."""
    significant = 0
    for before, word in pairwise(words):
        significant += _is_significant(word)
        if significant > VERB_WINDOW:
            return
        is_verb = word in REQUEST_VERBS and word not in UNSURE_VERBS | STOP_WORDS and before not in _BEFORE_NOUNS
        if is_verb and (word not in NOUN_LIKE_VERBS or before in _BEFORE_VERBS):
            yield REQUEST_VERBS[word], word


def _find_head_end(words: Sequence[str]) -> int:
    return next((index for index, word in enumerate(words) if index and word in _MODIFIERS), len(words))


def _iter_stems(clauses: Iterable[Sequence[str]]) -> Iterator[str]:
    return (stem for words in clauses for word in words if (stem := tokenizer.stem(word)))


def _is_plural_phrase(words: Sequence[str]) -> bool:
    """Return whether a clause is only a noun in the plural and what describes it: tasks finished last week."""
    if len(words) > MAX_PHRASE or not (AUXILIARIES | SUBJECTS).isdisjoint(words):
        return False
    nouns = [word for word in words[:3] if word not in ARTICLES]
    return any(map(_is_plural, nouns[:2]))


def _is_plural(word: str) -> bool:
    return len(word) >= MIN_PLURAL and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _is_significant(word: str) -> bool:
    return bool(tokenizer.stem(word))
