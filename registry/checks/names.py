"""Names in prose that lead nowhere: an argument that the schema does not have, an op that is not there.

A text speaks of arguments, of fields of results and of values, all in the same words. So a name is doubted only where
the text says that it is sent, or where it is an argument's but for a letter or two.
"""

import re
from collections.abc import Iterable, Iterator

from core import nearest
from registry import schemas
from registry.checks.context import Context
from registry.checks.finding import Finding, Rule
from registry.checks.places import Reading, argument_names
from registry.models import Op

ARGUMENT = Rule(
    "argument_unknown",
    "A text that has an argument sent which the schema does not have.",
    "Name an argument of the schema, or add it there.",
)
OP = Rule("op_unknown", "A text that names an op which does not exist or is retired.", "Name an op that runs.")
RULES = (ARGUMENT, OP)

_NAME = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
_WHOLE = rf"(?<![\w./@:$-])`?(?P<name>{_NAME})`?(?![\w/@(-]|\.\w)"
_WORD = re.compile(_WHOLE)
_SENT = re.compile(
    rf"""(?xi)\b(?:send|set|pass|provide|supply|specify|fill\sin|omit|leave\sout|narrow\sby)\s
      (?:(?:the|a|an|its|only|both|either|also|always)\s)?(?-i:{_WHOLE})(?!\sas\b)
      |\b(?:argument|parameter)\s(?-i:{_WHOLE.replace("?P<name>", "?P<after>")})
      |(?-i:{_WHOLE.replace("?P<name>", "?P<before>")})\s(?:argument|parameter)\b"""
)
_PATH = re.compile(r"(?<![\w./@:-])[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+(?![\w/@:(-])")
_DOT_WITHIN = re.compile(r"\.[a-z]")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
DOUBTED = 100  # names of one op: each is compared with all arguments, or with all ops of its group
_ALMOST = 0.9  # so alike is task_ids to task_id, and started_at to start_at is not


def check(reading: Reading, context: Context) -> Iterator[Finding]:
    """Yield a finding for each name in the copy of an op that leads nowhere, once a text."""
    known = reading.names | _values(reading)
    alike = _Alike()
    for field, text in reading.prose:
        found: dict[str, Finding] = {}
        # A name of an argument that could be doubted has a line between its words, an op's path a dot within.
        for sentence in _SENTENCE.split(text) if "_" in text or _DOT_WITHIN.search(text) else ():
            words = {match["name"] for match in _WORD.finditer(sentence)} - known if "_" in sentence else set[str]()
            for finding in (
                *(_arguments(reading, field, sentence, words, context, alike) if words else ()),
                *_ops(reading.op, field, sentence, context, alike),
            ):
                found.setdefault(finding.message, finding)
        yield from found.values()


class _Alike:
    """Finds what a name was probably meant to be, each name once.

    Imported text may have any number of names; those that come after an op's first are like nothing.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, float], str] = {}

    def to(self, name: str, among: Iterable[str], cutoff: float = 0.6) -> str:
        """Return the name that is most alike, or nothing where none is by `cutoff`."""
        if (name, cutoff) not in self._found:
            if len(self._found) >= DOUBTED:
                return ""
            self._found[name, cutoff] = next(iter(nearest.close(name, among, limit=1, cutoff=cutoff)), "")
        return self._found[name, cutoff]


def _arguments(
    reading: Reading, field: str, sentence: str, words: set[str], context: Context, alike: _Alike
) -> Iterator[Finding]:
    """Yield what is wrong with words that are no argument of this op."""
    others = context.named_in(_PATH.findall(sentence))
    elsewhere = frozenset[str]().union(*map(argument_names, others))
    sent = {match[match.lastgroup or 0] for match in _SENT.finditer(sentence)}
    own = [argument.name for argument in reading.arguments]
    for word in sorted(words - elsewhere):
        meant = alike.to(word, own, 0.6 if word in sent else _ALMOST)
        if word in sent or (meant and not context.is_known(word)):
            mended = re.sub(rf"(?<!\w){word}(?!\w)", meant, sentence).strip() if meant else ""
            message = f"{reading.op} has no argument {word}."
            yield ARGUMENT.found(reading.op, field, message, f"Write: {mended}" if mended else "")


def _ops(op: str, field: str, sentence: str, context: Context, alike: _Alike) -> Iterator[Finding]:
    for path in dict.fromkeys(_PATH.findall(sentence)) if _DOT_WITHIN.search(sentence) else ():
        if path == op or path.partition(".")[0] not in context.tops or path in context.groups:
            continue
        named = next(context.named_in([path]), None)
        if named is None:
            meant = alike.to(path, context.beside(path))
            yield OP.found(op, field, f"There is no op {path}.", f"Write {meant}." if meant else "")
        elif named.get("status") == Op.Status.RETIRED:
            instead = named.get("successor", "")
            yield OP.found(op, field, f"{path} is retired.", f"Write {instead}." if instead else "")


def _values(reading: Reading) -> frozenset[str]:
    """Return the texts that a schema lists as values, under whatever name they are sent."""
    found: set[str] = set()
    for part, _ in reading.subschemas:
        aliases = part.get(schemas.VALUE_ALIASES)
        listed = [part.get("const"), part.get("default"), *part.get("enum", ())]
        listed += aliases if isinstance(aliases, dict) else ()
        found |= {value for value in listed if isinstance(value, str)}
    return frozenset(found)
