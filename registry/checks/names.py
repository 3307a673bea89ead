"""Find names in prose that do not exist: arguments that are not in the schema, and ops that are not in the catalog.

A text names arguments, fields of results and values alike. So a name is reported only if the text says to send it, or
if it differs from an argument by a letter or two.
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
    "Text that says to send an argument that the schema does not have.",
    "Use an argument of the schema, or add this one to it.",
)
OP = Rule("op_unknown", "Text that names an op that does not exist or is retired.", "Name an active op.")
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
DOUBTED = 100  # unknown names of one op, each compared with all arguments or with all ops of its group
_ALMOST = 0.9  # similarity: task_ids is this close to task_id, started_at to start_at is not


def check(reading: Reading, context: Context) -> Iterator[Finding]:
    """Yield a finding for each unknown name in the copy of an op, once per text."""
    known = reading.names | _values(reading)
    alike = _Alike()
    for field, text in reading.prose:
        found: dict[str, Finding] = {}
        # Skip texts early: only argument names with an underscore and paths with a dot are checked.
        for sentence in _SENTENCE.split(text) if "_" in text or _DOT_WITHIN.search(text) else ():
            words = {match["name"] for match in _WORD.finditer(sentence)} - known if "_" in sentence else set[str]()
            for finding in (
                *(_arguments(reading, field, sentence, words, context, alike) if words else ()),
                *_ops(reading.op, field, sentence, context, alike),
            ):
                found.setdefault(finding.message, finding)
        yield from found.values()


class _Alike:
    """Suggests the name that was probably meant, and remembers the result.

    Imported text may have any number of names. After the first MAX_SUGGESTIONS names of an op, nothing is suggested.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, float], str] = {}

    def to(self, name: str, among: Iterable[str], cutoff: float = 0.6) -> str:
        """Return the most similar name, or "" if none reaches `cutoff`."""
        if (name, cutoff) not in self._found:
            if len(self._found) >= DOUBTED:
                return ""
            self._found[name, cutoff] = next(iter(nearest.close(name, among, limit=1, cutoff=cutoff)), "")
        return self._found[name, cutoff]


def _arguments(
    reading: Reading, field: str, sentence: str, words: set[str], context: Context, alike: _Alike
) -> Iterator[Finding]:
    """Yield a finding for each word that was meant as an argument of this op and is not one."""
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
            yield OP.found(op, field, f"There is no op {path}.", f"Use {meant}." if meant else "")
        elif named.get("status") == Op.Status.RETIRED:
            instead = named.get("successor", "")
            yield OP.found(op, field, f"{path} is retired.", f"Use {instead}." if instead else "")


def _values(reading: Reading) -> frozenset[str]:
    """Return the strings that a schema lists as values of any argument."""
    found: set[str] = set()
    for part, _ in reading.subschemas:
        aliases = part.get(schemas.VALUE_ALIASES)
        listed = [part.get("const"), part.get("default"), *part.get("enum", ())]
        listed += aliases if isinstance(aliases, dict) else ()
        found |= {value for value in listed if isinstance(value, str)}
    return frozenset(found)
