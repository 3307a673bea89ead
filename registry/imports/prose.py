"""Clean untrusted prose: write a short summary, find hidden characters and prompt injection, escape for terminals."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from registry.imports import words

MAX_WORDS = 12
MAX_SUMMARY = 90  # characters
MAX_UNSPACED = 30  # characters, in a script without spaces between words
MAX_DESCRIPTION = 4_000
MAX_SHOWN = 400  # characters of a text in a report

_MARKUP = re.compile(r"<[^<>]{1,200}>|[`*#]+|(?<!\w)_+|_+(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
# Empty phrases at the start of descriptions, such as "This tool allows you to".
_ALLOWS = (
    r"(?:allows?|enables?|lets?|helps?|permits?)(?:\s+(?:you|users?|one|the\s+\w+|agents?|developers?))?(?:\s+to)?"
)
_PREAMBLE = re.compile(
    rf"""(?xi)^(?:
      (?:(?:use|call|invoke)\s+)?(?:this|the|an?)\s+(?:\w+\s+)?
        (?:tool|function|api|endpoint|method|operation|action|command|plugin|call)(?:\s+that)?
        (?:\s+(?:(?:is|can\s+be)\s+(?:used|called|designed|meant|intended)\s+(?:to|for)|used\s+(?:to|for)|{_ALLOWS}
        |will|can|to|for|when\s+you\s+(?:need|want)\s+to))?
      |(?:used?|useful)(?:\s+it)?\s+(?:to|for|when\s+you\s+(?:need|want)\s+to)
      |(?=\w+\s+(?:you|users?|one|the|to)\b){_ALLOWS}
      |(?:endpoint|api|method|function|tool)\s+(?:to|for|that)
    )\s+(?=\S)"""
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s|$)|[。！？]")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#>]|\d+[.)]|\w+:\s*$))", re.MULTILINE)
_CLAUSE = re.compile(r"[,;:(\[–—]| - |[，；：（]")
_DANGLING = _set(
    """
    a an the of to and or with for in by on at from as that which who whose its their your this these such using
    into including based within via per is are be if when where e.g. i.e.
    """
)

_HIDDEN = frozenset(("Cc", "Cf", "Co", "Cn", "Zl", "Zp"))
_JOINERS = frozenset("\u200c\u200d\ufeff\n\r\t")  # scripts, emoji and files need them
_COMMANDS = re.compile(
    r"""(?xi)\b(?:ignore|disregard|forget|override)\b[^.]{0,30}\b(?:instruction|prompt|rule|previous|above|prior|other\s+tool)s?
      |\b(?:system\s+prompt|jailbreak|hidden\s+instruction)
      |\b(?:do\s+not|don't|never|without)\s+(?:tell|telling|mention\w*|inform\w*|notify\w*|ask\w*|reveal\w*)\b[^.]{0,20}\buser
      |\bbefore\s+(?:using|calling|running|any)\b[^.]{0,30}\b(?:other|any|every)\b[^.]{0,20}\btools?
      |\b(?:always|must)\s+(?:call|use|run|invoke)\s+this\b
      |\byou\s+(?:must|should)\s+(?:always|never)\b
      |<(?:important|system|instructions?|secret)>"""
)


def summary(description: str, name: str) -> str:
    """Return one line of at most 12 words from a description's first sentence, else the words of the name."""
    text = _PREAMBLE.sub("", _first_paragraph(description[:2_000]))
    text = next((part.strip() for part in _SENTENCE.split(text) if part.strip(" -–—•:.")), "")
    text = _cut(text).strip(" -–—•:;,.(")
    if not any(map(str.isalnum, text)):
        text = " ".join(words.split(name)) or "".join(letter for letter in name if letter.isprintable())[:MAX_UNSPACED]
    return text[:1].upper() + text[1:]


def description(text: str) -> str:
    """Return a description without surrounding space, cut to the length that an op can have."""
    text = text.strip()
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "…"


def remarks(value: Any) -> list[str]:
    """Return what an admin should review in the texts of a function, one sentence each. Changes nothing."""
    said = list(_texts(value))
    found = []
    if any(map(hidden, said)):
        found.append("It has control, direction or other invisible characters.")
    if any(map(instruction, said)):
        found.append("It reads like instructions to the model.")
    return found


def hidden(text: str) -> list[str]:
    """Return the control, direction and other invisible characters of a text, each once."""
    if text.isascii() and text.isprintable():
        return []
    odd = dict.fromkeys(letter for letter in text if letter not in _JOINERS)
    return [letter for letter in odd if unicodedata.category(letter) in _HIDDEN]


def instruction(text: str) -> str:
    """Return the first words of a text that read like an instruction to the model, or ""."""
    found = _COMMANDS.search(text[: MAX_DESCRIPTION * 2])
    return found[0] if found else ""


def shown(text: str) -> str:
    """Return an untrusted text for a terminal: non-printable characters are escaped, and its length is limited."""
    escaped = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text[:MAX_SHOWN])
    return escaped + ("…" if len(text) > MAX_SHOWN else "")


def _first_paragraph(text: str) -> str:
    """Return the first paragraph that is not a heading, else the heading, without markup and invisible characters."""
    said = [part.strip() for part in _PARAGRAPH.split(text) if part.strip()]
    first = next((part for part in said if not part.startswith("#")), said[0] if said else "")
    plain = _MARKUP.sub("", _LINK.sub(r"\1", first))
    seen = (letter for letter in plain if letter in _JOINERS or unicodedata.category(letter) not in _HIDDEN)
    return " ".join("".join(seen).replace("\ufeff", "").split())


def _cut(text: str) -> str:
    """Shorten a sentence to whole clauses if one ends early enough, else to whole words."""
    said = text.split(" ")
    if len(said) <= 2 and len(text) > MAX_UNSPACED:
        within = [found.start() for found in _CLAUSE.finditer(text[:MAX_UNSPACED]) if found.start() > 5]
        return text[: within[-1]] if within else text[:MAX_UNSPACED]
    if len(said) <= MAX_WORDS and len(text) <= MAX_SUMMARY:
        return text
    short = " ".join(said[:MAX_WORDS])[:MAX_SUMMARY]
    if len(short) < len(text) and text[len(short)] != " ":
        short = short.rpartition(" ")[0] or short
    ends = [found.start() for found in _CLAUSE.finditer(short) if len(short[: found.start()].split()) > 3]
    kept = short[: ends[-1]].split() if ends else short.split()
    while len(kept) > 3 and kept[-1].lower().strip(",") in _DANGLING:
        kept.pop()
    return " ".join(kept)


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, including member names."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list):
            stack += item
