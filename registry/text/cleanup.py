"""Clean untrusted prose: write a short summary, find hidden characters and prompt injection, escape for terminals."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from registry.text import tool_name_words

MAX_WORDS = 12
MAX_SUMMARY = 90  # characters
MAX_UNSPACED = 30  # characters, in a script without spaces between words
MAX_DESCRIPTION = 4_000
MAX_SHOWN = 400  # characters of a text in a report
MAX_TOOL_NAME = 64  # characters; most providers refuse longer ones

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")

_MARKUP = re.compile(r"<[^<>]{1,200}>|[`*#]+|(?<!_)(?:(?<!\w)_+|_++(?!\w))")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
# Empty phrases at the start of descriptions, such as "This tool allows you to".
_ALLOWS_PHRASE = (
    r"(?:allows?|enables?|lets?|helps?|permits?)(?:\s+(?:you|users?|one|the\s+\w+|agents?|developers?))?(?:\s+to)?"
)
_PREAMBLE = re.compile(
    rf"""(?xi)^(?:
      (?:(?:use|call|invoke)\s+)?(?:this|the|an?)\s+(?:\w+\s+)?
        (?:tool|function|api|endpoint|method|operation|action|command|plugin|call)(?:\s+that)?
        (?:\s+(?:(?:is|can\s+be)\s+(?:used|called|designed|meant|intended)\s+(?:to|for)|used\s+(?:to|for)|{_ALLOWS_PHRASE}
        |will|can|to|for|when\s+you\s+(?:need|want)\s+to))?
      |(?:used?|useful)(?:\s+it)?\s+(?:to|for|when\s+you\s+(?:need|want)\s+to)
      |(?=\w+\s+(?:you|users?|one|the|to)\b){_ALLOWS_PHRASE}
      |(?:endpoint|api|method|function|tool)\s+(?:to|for|that)
    )\s+(?=\S)"""
)


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s|$)|[。！？]")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#>]|\d+[.)]|\w+:\s*$))", re.MULTILINE)
_CLAUSE = re.compile(r"[,;:(\[–—]| - |[，；：（]")
_DANGLING_WORDS = _split_to_set(
    """
    a an the of to and or with for in by on at from as that which who whose its their your this these such using
    into including based within via per is are be if when where e.g. i.e.
    """
)

_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cn", "Zl", "Zp"))
_ALLOWED_INVISIBLE = frozenset("\u200c\u200d\n\r\t")  # scripts and emoji need them
# Letters and marks that show nothing: fillers of Hangul and Khmer, joiners, and the variation selectors, of which all
# but two (text and emoji style) can carry a hidden message.
_INVISIBLE_LETTERS = frozenset(
    map(
        chr,
        (
            0x034F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            0x2800,
            0x3164,
            0xFFA0,
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE0E),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_IDENTIFIER = re.compile(r"[\w$@.-]{1,40}", re.ASCII)
_INSTRUCTION = re.compile(
    r"""(?xi)\b(?:ignore|disregard|forget|override)\b[^.]{0,30}\b(?:instruction|prompt|rule|previous|above|prior|other\s+tool)s?
      |\b(?:system\s+prompt|jailbreak|hidden\s+instruction)
      |\b(?:do\s+not|don't|never|without)\s+(?:tell|telling|mention\w*|inform\w*|notify\w*|ask\w*|reveal\w*)\b[^.]{0,20}\buser
      |\bbefore\s+(?:using|calling|running|any)\b[^.]{0,30}\b(?:other|any|every)\b[^.]{0,20}\btools?
      |\b(?:always|must)\s+(?:call|use|run|invoke)\s+this\b
      |\byou\s+(?:must|should)\s+(?:always|never)\b
      |<(?:important|system|instructions?|secret)>"""
)


def write_summary(description: str, name: str) -> str:
    """Return one line of at most 12 words from a description's first sentence, else the words of the name."""
    text = _PREAMBLE.sub("", _get_first_paragraph(description[:2_000]))
    text = next((part.strip() for part in _SENTENCE.split(text) if part.strip(" -–—•:.")), "")
    text = _shorten_sentence(text).strip(" -–—•:;,.(")
    if not any(map(str.isalnum, text)):
        text = (
            " ".join(tool_name_words.split_name(name))
            or "".join(letter for letter in name if letter.isprintable())[:MAX_UNSPACED]
        )
    return text[:1].upper() + text[1:]


def clean_description(text: str) -> str:
    """Return a description without surrounding space, cut to the length that an op can have; "" if it shows nothing."""
    text = strip_blank(text)
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "…"


def find_remarks(value: Any) -> list[str]:
    """Return what an admin should review in the texts of a function, one sentence each. Changes nothing."""
    texts = list(iterate_strings(value))
    sentences = []
    if any(map(find_hidden_characters, texts)):
        sentences.append("It has control, direction or other invisible characters.")
    if any(map(find_instruction, texts)):
        sentences.append("It reads like instructions to the model.")
    return sentences


def find_hidden_characters(text: str) -> list[str]:
    """Return the control, direction and other invisible characters of a text, each once."""
    if text.isascii() and text.isprintable():
        return []
    return [letter for letter in dict.fromkeys(text) if is_hidden(letter)]


def is_hidden(letter: str) -> bool:
    """Return whether a character shows nothing, and no script or emoji needs it."""
    if letter in _ALLOWED_INVISIBLE:
        return False
    return letter in _INVISIBLE_LETTERS or unicodedata.category(letter) in _HIDDEN_CATEGORIES


def strip_hidden_characters(text: str) -> str:
    """Return a text without its control, direction and other invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(letter): None for letter in find_hidden_characters(text)})


def clean_tool_name(name: str) -> str:
    """Return a name with only the characters that a tool name can have, other scripts in Latin letters.

    A long one loses its last words.
    """
    latin = name if name.isascii() else "_".join(tool_name_words.split_name(name))
    clean_name = _NOT_IN_TOOL_NAMES.sub("_", latin).strip("_") or "tool"
    if len(clean_name) <= MAX_TOOL_NAME:
        return clean_name
    end_of_word = max(clean_name.rfind(separator, 0, MAX_TOOL_NAME + 1) for separator in "_-.")
    return clean_name[: end_of_word if end_of_word >= MAX_TOOL_NAME // 2 else MAX_TOOL_NAME].rstrip("_")


def strip_blank(text: str) -> str:
    """Return a text without surrounding space; "" if it has only characters that show nothing."""
    return text.strip() if any(map(_is_visible, text)) else ""


def _is_visible(letter: str) -> bool:
    return not (letter.isspace() or letter in _ALLOWED_INVISIBLE or letter in "\ufe0e\ufe0f" or is_hidden(letter))


def list_names(names: Iterable[str], *, most: int = 12) -> str:
    """Return names from outside for a message of ours: identifiers of at most 40 characters; others are counted.

    A longer name could be a sentence, which a model would take for ours.
    """
    unique = list(dict.fromkeys(names))
    shown = list(islice(filter(is_identifier, unique), most))
    others = len(unique) - len(shown)
    if not shown:
        return f"{others} {'name' if others == 1 else 'names'}"
    return ", ".join(shown) + (f" and {others} more" if others else "")


def is_identifier(name: str) -> bool:
    """Return whether a name from outside is short and has only ASCII letters, digits and a few signs."""
    return _IDENTIFIER.fullmatch(name) is not None


def find_instruction(text: str) -> str:
    """Return the first words of a text that read like an instruction to the model, or ""."""
    match = _INSTRUCTION.search(text[: MAX_DESCRIPTION * 2])
    return match[0] if match else ""


def escape_for_terminal(text: str) -> str:
    """Return an untrusted text for a terminal: non-printable characters are escaped, and its length is limited."""
    escaped = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text[:MAX_SHOWN])
    return escaped + ("…" if len(text) > MAX_SHOWN else "")


def _get_first_paragraph(text: str) -> str:
    """Return the first paragraph that is not a heading, else the heading, without markup and invisible characters."""
    paragraphs = [part.strip() for part in _PARAGRAPH.split(text) if part.strip()]
    first = next((part for part in paragraphs if not part.startswith("#")), paragraphs[0] if paragraphs else "")
    plain = _MARKUP.sub("", _LINK.sub(r"\1", first))
    return " ".join(strip_hidden_characters(plain).split())


def _shorten_sentence(text: str) -> str:
    """Shorten a sentence to whole clauses if one ends early enough, else to whole words."""
    text_words = text.split(" ")
    if len(text_words) <= 2 and len(text) > MAX_UNSPACED:
        clause_ends = [match.start() for match in _CLAUSE.finditer(text[:MAX_UNSPACED]) if match.start() > 5]
        return text[: clause_ends[-1]] if clause_ends else text[:MAX_UNSPACED]
    if len(text_words) <= MAX_WORDS and len(text) <= MAX_SUMMARY:
        return text
    short = " ".join(text_words[:MAX_WORDS])[:MAX_SUMMARY]
    if len(short) < len(text) and text[len(short)] != " ":
        short = short.rpartition(" ")[0] or short
    ends = [match.start() for match in _CLAUSE.finditer(short) if len(short[: match.start()].split()) > 3]
    kept_words = short[: ends[-1]].split() if ends else short.split()
    while len(kept_words) > 3 and kept_words[-1].lower().strip(",") in _DANGLING_WORDS:
        kept_words.pop()
    return " ".join(kept_words)


def iterate_strings(value: Any) -> Iterator[str]:
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
