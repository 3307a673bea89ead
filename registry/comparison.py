"""Compare two states of the copy for a reviewer: what a model would read differently, word by word."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from core import canonical
from registry import budget, catalogs, changes, checks, help
from registry.changes import KINDS, Action, Change, Kind
from registry.help import HelpQuery

# The passages show changes of these fields.
_READ_FIELDS = frozenset(
    ["kind", "summary", "description", "notes", "parameters_schema", "policy", "examples", "title", "text"]
)
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")

Content = Mapping[str, Any]
Tokens = tuple[int, int]  # of an op's short and full help


@dataclass(frozen=True, slots=True)
class Words:
    """A run of words that is in both texts, only in the old one, or only in the new one."""

    said: Literal["both", "before", "after"]
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One changed part of what a model reads: the summary, an argument, an example."""

    label: str
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed group, op or prompt section: its fields, changed passages, tokens and editors."""

    change: Change
    passages: tuple[Passage, ...]
    before: Tokens | None  # None: there is no help, or it cannot be rendered
    after: Tokens | None
    editors: tuple[str, ...] = ()

    @property
    def unread(self) -> tuple[Passage, ...]:
        """The changed fields that are not part of help, such as keywords or the connection."""
        if self.change.action != Action.CHANGED:
            return ()
        told = _READ_FIELDS if self.passages else frozenset[str]()
        return tuple(
            Passage(name, words(_value(before), _value(after)))
            for name, (before, after) in self.change.fields.items()
            if name not in told
        )

    @property
    def tokens(self) -> Tokens:
        """By how many tokens its short and its full help grew; negative if they shrank."""
        (short, full), (short_after, full_after) = self.before or (0, 0), self.after or (0, 0)
        return short_after - short, full_after - full


def compare(
    before: Content, after: Content, *, editors: Mapping[tuple[str, str], Sequence[str]] | None = None
) -> list[Difference]:
    """Return the groups, ops and prompt sections that changed between two snapshots (see registry.snapshot).

    `editors` is {(kind, name): users}, as registry.history.editors returns it.
    """
    return read(changes.between(before, after), before, after, editors=editors)


def read(
    found: Sequence[Change],
    before: Content,
    after: Content,
    *,
    editors: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> list[Difference]:
    """Return given changes between two snapshots, with what a model reads about them before and after."""
    ops = {change.name for change in found if change.kind == Kind.OP}
    sides = [_Side.of(content, ops) for content in (before, after)]
    differences = []
    for change in found:
        old, new = (side.read(change) for side in sides)
        cost, cost_after = (side.tokens.get(change.name) if change.kind == Kind.OP else None for side in sides)
        people = tuple((editors or {}).get((change.kind, change.name), ()))
        differences.append(Difference(change, tuple(_passages(old, new)), cost, cost_after, people))
    return differences


def passages(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Return what changed for a model between two bodies of full help. An empty body means no help."""
    return tuple(_passages(dict(_parts(before)), dict(_parts(after))))


def words(before: str, after: str) -> tuple[Words, ...]:
    """Return the word-by-word difference of two texts, in reading order."""
    one, other = _WORDS.findall(before), _WORDS.findall(after)
    # Spaces are junk to the matcher: they are frequent and mean nothing.
    matcher = difflib.SequenceMatcher(str.isspace, one, other, autojunk=False)
    found: list[Words] = []
    for kind, start, end, start_after, end_after in matcher.get_opcodes():
        if kind == "equal":
            found.append(Words("both", "".join(one[start:end])))
            continue
        if start < end:
            found.append(Words("before", "".join(one[start:end])))
        if start_after < end_after:
            found.append(Words("after", "".join(other[start_after:end_after])))
    return tuple(found)


@dataclass(frozen=True)
class _Side:
    """One of the two snapshots: its entries, and the help of its changed ops."""

    entries: dict[Kind, dict[str, dict[str, Any]]]
    bodies: dict[str, dict[str, Any]]  # op -> its full help
    tokens: dict[str, Tokens]

    @classmethod
    def of(cls, content: Content, ops: set[str]) -> "_Side":
        entries = {kind: changes.entries(content, kind) for kind in KINDS}
        # An op that would break serving has no help; its fields are still compared.
        served = [op for op in content["ops"] if op["op"] in ops and not checks.op_problems(op)]
        text = canonical.dumps({"groups": [], "ops": served})  # a release is served in this key order
        catalog = catalogs.build("", orjson.loads(text))
        bodies, tokens = {}, {}
        for path in (path for path, op in catalog.ops.items() if op.is_active):
            short, full = (help.answer(catalog, HelpQuery(path=path, format=form)).body for form in _FORMS)
            bodies[path], tokens[path] = orjson.loads(full), (budget.size_of(short), budget.size_of(full))
        return cls(entries, bodies, tokens)

    def read(self, change: Change) -> dict[str, str]:
        """Return what a model reads about an entry, as {label: text}."""
        if change.kind == Kind.OP:
            return dict(_parts(self.bodies.get(change.name, {})))
        entry = self.entries[change.kind].get(change.name, {})
        return {name: entry[name] for name in ("summary", "title", "text") if name in entry}


_FORMS: tuple[Literal["short", "full"], ...] = ("short", "full")


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for each part of a body of full help."""
    for name in ("kind", "summary", "description"):
        if name in body:
            yield name, body[name]
    if "usage" in body:
        yield "usage", _json(body["usage"])
    for argument in body.get("args", []):
        yield f"argument {argument['name']}", _argument(argument)
    for name, texts in body.get("policy", {}).items():
        yield name, "\n".join(texts)
    if "notes" in body:
        yield "notes", body["notes"]
    for number, example in enumerate(body.get("examples", []), start=1):
        yield f"example {number}", _json(example)


def _argument(argument: dict[str, Any]) -> str:
    said = [argument["type"], "required" if argument["required"] else "optional"]
    said += [f"{name} {_json(argument[name])}" for name in ("default", "enum") if name in argument]
    return "\n".join(filter(None, [", ".join(said), argument.get("description", "")]))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _value(value: Any) -> str:
    """Return a field as text; "" if it is empty."""
    if value in (None, "", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _passages(before: dict[str, str], after: dict[str, str]) -> Iterator[Passage]:
    for label in dict.fromkeys([*after, *before]):
        one, other = before.get(label, ""), after.get(label, "")
        if one != other:
            yield Passage(label, words(one, other))
