"""Words of messages in English, German, French and Spanish, by what they ask for (request_words.yaml)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.text.english import STOP_WORDS
from registry.search import intent, tokenizer

ENGLISH = "en"
TOPICS, SHARED = "topics", "shared"
WRITES = (intent.CREATE, intent.UPDATE, intent.DELETE)
MIN_FUNCTION_SHARE = 0.15  # of a message's words that tell its language
EARLIER_SHARE = 0.3  # weight of what was written before
SHORT = 3  # words; a shorter message may have no word that tells its language


@dataclass(frozen=True)
class LanguageWords:
    """The words of one language, as patterns of a message's words joined by spaces."""

    code: str
    preposition: re.Pattern[str]
    function: re.Pattern[str]
    opening: re.Pattern[str]
    question: re.Pattern[str]
    yes_no: re.Pattern[str]
    actions: dict[str, re.Pattern[str]]  # read, create, update, delete
    settled: re.Pattern[str]
    change: re.Pattern[str]
    removal: re.Pattern[str]
    negative: re.Pattern[str]
    wish: re.Pattern[str]
    thanks: re.Pattern[str]
    agree: re.Pattern[str]
    follow_up: re.Pattern[str]
    nouns: tuple[tuple[str, re.Pattern[str]], ...]  # English words, and the words that mean them
    telling: re.Pattern[str]  # verbs, questions and nouns

    @property
    def has_verb_anywhere(self) -> bool:
        """Whether the verb of a request need not come first, as in German."""
        return self.code == "de"

    def drop_function_words(self, text: str) -> str:
        """Return a text in this language without its function words; an English text as it is."""
        if self.code == ENGLISH:
            return text
        return " ".join(word for word in text.split() if not self.function.fullmatch(word))

    def translate(self, text: str) -> str:
        """Return the English words for those in a text that are known."""
        return " ".join(english for english, pattern in self.nouns if pattern.search(text))


def join_words(text: str) -> str:
    """Return the words of a text as the patterns expect them."""
    return " ".join(tokenizer.split_words(text.replace("\n", " ")))


def detect_language(text: str, earlier: str = "") -> LanguageWords | None:
    """Return the language of joined words; None if it is none of those that are known.

    `earlier` are joined words that the same user wrote before: a few words seldom tell their language.
    """
    words = text.split()
    known = [word for word in words if not word.isdigit()]
    shares = _count_shares(known)
    if earlier and (before := _count_shares(earlier.split())):
        shares = {code: share + EARLIER_SHARE * before[code] for code, share in shares.items()}
    greets = {each.code: bool(each.thanks.match(text) or each.agree.match(text)) for each in load_languages().values()}
    best = max(shares, key=lambda code: (shares[code], greets[code], code == ENGLISH))
    if shares[best] >= MIN_FUNCTION_SHARE:
        return load_languages()[best]
    asking = [each for each in load_languages().values() if _asks(each, text)]
    if asking:
        return asking[0]
    return load_languages()[ENGLISH] if text.isascii() and len(known) <= SHORT else None


def _count_shares(words: Sequence[str]) -> dict[str, float]:
    """Return the share of words that are of each language, by its code."""
    return {each.code: _count(each, words) / max(len(words), 1) for each in load_languages().values()}


@cache
def load_languages() -> dict[str, LanguageWords]:
    """Return the languages by code, English first."""
    return {code: _build(code, words) for code, words in _read_words().items() if code not in (TOPICS, SHARED)}


@cache
def load_topics() -> dict[str, re.Pattern[str]]:
    """Return the pattern of each topic, by the part of the path of the ops that are meant."""
    return {topic: _compile(phrases) for topic, phrases in _read_words()[TOPICS].items()}


@cache
def load_shared() -> dict[str, re.Pattern[str]]:
    """Return the patterns that are the same in all languages, by name."""
    return {name: _compile(phrases) for name, phrases in _read_words()[SHARED].items()}


@cache
def _read_words() -> dict[str, Any]:
    content: dict[str, Any] = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=yaml.CSafeLoader)
    return content


def _build(code: str, words: dict[str, Any]) -> LanguageWords:
    nouns = words.get("nouns", {})
    telling = " ".join(words[key] for key in (*WRITES, intent.READ, "question", "yes_no", "follow_up"))
    return LanguageWords(
        code=code,
        preposition=_compile(words["preposition"]),
        function=_compile(words["function"] + (" ".join(sorted(STOP_WORDS)) if code == ENGLISH else "")),
        opening=_compile(words["opening"]),
        question=_compile(words["question"]),
        yes_no=_compile(words["yes_no"]),
        actions={action: _compile(words[action]) for action in (*WRITES, intent.READ)},
        settled=_compile(words["settled"]),
        change=_compile(words["change"]),
        removal=_compile(words["removal"]),
        negative=_compile(words["negative"]),
        wish=_compile(words["wish"]),
        thanks=_compile(words["thanks"]),
        agree=_compile(words["agree"]),
        follow_up=_compile(words["follow_up"]),
        nouns=tuple((english, _compile(forms)) for english, forms in nouns.items()),
        telling=_compile(" ".join((telling, *nouns.values()))),
    )


def _compile(text: str) -> re.Pattern[str]:
    """Return the pattern of phrases separated by bars, or of words separated by spaces."""
    if "|" in text:
        parts = [part.strip() for part in text.split(" | ")]
    else:
        parts = [part.replace("*", r"\w*").replace("_", " ") for part in text.split()]
    return re.compile(rf"\b(?:{'|'.join(sorted(parts, key=len, reverse=True))})\b")


def _count(language: LanguageWords, words: Sequence[str]) -> float:
    """Return how many words are of a language; those that mean something count half, because some are borrowed."""
    functions = sum(1 for word in words if language.function.fullmatch(word))
    return functions + 0.5 * sum(1 for word in words if language.telling.fullmatch(word))


def _asks(language: LanguageWords, text: str) -> bool:
    """Whether a text begins as a request does, or only thanks or agrees."""
    patterns = (
        language.question,
        language.yes_no,
        language.thanks,
        language.agree,
        language.change,
        language.settled,
        *language.actions.values(),
    )
    return any(pattern.match(text) for pattern in patterns)
