"""Split text into the words that search compares, in any script and any spelling of names."""

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import pairwise

import Stemmer

from core.text.english import STOP_WORDS

BREAK = "\n"  # a separate word, so that many texts can be split in one call

_CAMEL_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")  # starts with a letter, so re can skip ahead
_PUNCTUATION = re.compile(r"[\W_]+")
_JOINED_WORDS = {"to-do": "todo", "how-to": "howto"}  # two words that are stop words alone
# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs of Arabic: often left out.
_DIACRITICS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]"
)
# Vowel signs of South and Southeast Asian scripts: not \w in `re`, but part of words.
_WORD = re.compile("[\\w\u0780-\u07b1\u0900-\u0963\u0966-\u0eff\u0f18-\u0fbc\u1000-\u109f\u1780-\u17d3]+|" + BREAK)
# Thai, Lao, Myanmar, Khmer, Han, kana and Hangul: written without spaces, or with attached particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]+"
)

# Polite phrases before the actual request.
_POLITE_OPENING = re.compile(
    r"^\W*(?:(?:hi|hello|hey|ok|okay|so|well|also|and|then|now|next|finally|please|kindly|thanks?|thank you)\b\W*)*"
    r"(?:"
    r"(?:can|could|would|will) you (?:please |kindly |also )?(?:help me (?:to |with )?)?"
    r"|(?:i (?:would like|want|need|wish|have)|i'd like|i'm (?:trying|looking)|we (?:want|need)) (?:you )?to "
    r"|help me (?:to |with )?|let(?:'s| us| me) |show me how to |how (?:do|can|could|should) i "
    r"|i (?:want|need) (?:your )?(?:help )?(?:with )?|(?:is it possible|be able) to "
    r"|(?:please|kindly) "
    r")?",
    re.IGNORECASE,
)
# Values to run an op with, which do not help to find it: quoted text, addresses, ids, numbers.
_VALUE = re.compile(
    r"\"[^\"]{1,60}\"|(?<!\w)'[^']{1,60}'(?!\w)|(?<!\S)\S+(?:@|://)\S+|(?<!\w)[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}(?!\w)"
    r"|(?<!\w)[0-9][0-9.,:/%-]*(?!\w)|(?<!\w)(?=\w{0,40}[0-9]\w{0,40}[A-Za-z])\w{8,}"
)
_WEB_ADDRESS = re.compile(r"(?<!\S)https?://\S+")
_CLAUSE = re.compile(
    r"[.;!?\n](?:\s|$)|(?<!\s)(?:,?\s+(?:and then|and|then|also|after that|afterwards|but)\s+|,\s+)", re.IGNORECASE
)

_stemmers = threading.local()  # a stemmer is not thread-safe


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, case-folded but not stemmed. Splits at camel-case humps and punctuation.

    Scripts without spaces give pairs of characters. A line break is a separate word.
    """
    spaced = _CAMEL_HUMP.sub(r" \g<0>", text.replace("_", " "))
    if not spaced.isascii():
        plain = _DIACRITICS.sub("", unicodedata.normalize("NFKD", spaced)).replace("_", " ")
        spaced = _UNSPACED.sub(_split_pairs, unicodedata.normalize("NFC", plain))
    folded = spaced.casefold()
    for separate, joined in _JOINED_WORDS.items():
        folded = folded.replace(separate, joined)
    return _WORD.findall(folded)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word; "" for a stop word."""
    if word in STOP_WORDS:
        return ""
    if not hasattr(_stemmers, "english"):
        _stemmers.english = Stemmer.Stemmer("english")
    stemmed: str = _stemmers.english.stemWord(word)
    return stemmed


def normalise_name(name: str) -> str:
    """Return a name without punctuation, spaces and case, so that all its spellings are equal."""
    return _PUNCTUATION.sub("", name).casefold()


def extract_request(request: str) -> str:
    """Return a request without its polite opening and without values such as dates and quoted text.

    "Could you please find the holidays of 2026 in 'Chile'?" wants "find the holidays of   in  ?".
    """
    valueless = _VALUE.sub(" ", _WEB_ADDRESS.sub(" url ", request))
    return _strip_frame(valueless if _count_significant_words(valueless) > 1 else request)


def split_clauses(request: str, *, min_words: int = 2) -> list[str]:
    """Return the clauses of a request, each without its polite opening. Empty if there is only one.

    What has fewer than `min_words` significant words is not a clause.
    """
    parts = [_strip_frame(part.strip()) for part in _CLAUSE.split(request)]
    significant = [part for part in parts if _count_significant_words(part) >= min_words]
    return significant if len(significant) > 1 else []


def _count_significant_words(text: str) -> int:
    return sum(1 for word in split_words(text) if stem(word))


def _strip_frame(text: str) -> str:
    frame = _POLITE_OPENING.match(text)
    return text[frame.end() :] or text if frame else text


def _split_pairs(match: re.Match[str]) -> str:
    characters = match.group()
    if len(characters) < 3:
        return f" {characters} "
    return f" {' '.join(map(''.join, pairwise(characters)))} "
