"""Compare two states of the copy for a reviewer: what a model would read differently, word by word."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.text import json_text, token_budget
from registry import checks
from registry.catalog import builder
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.snapshot import diff
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import Action, CopyChange
from registry.snapshot.entries import Entry, Snapshot
from registry.text.word_diff import DiffPiece, diff_lines, diff_words

TokenCounts = tuple[int, int]  # of an op's short and full help


@dataclass(frozen=True, slots=True)
class ChangedPassage:
    """One changed part of what a model reads: the summary, an argument, an example. `is_json`: it is shown as code."""

    label: str
    words: tuple[DiffPiece, ...]
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """One changed entry: its fields, changed passages, tokens and editors."""

    change: CopyChange
    passages: tuple[ChangedPassage, ...]
    before: TokenCounts | None  # None: there is no help, or it cannot be rendered
    after: TokenCounts | None
    editors: tuple[str, ...] = ()

    @property
    def unread_fields(self) -> tuple[ChangedPassage, ...]:
        """The changed fields that are not part of help, such as keywords or the connection."""
        if self.change.action != Action.CHANGED:
            return ()
        help_fields = COPY_KINDS[self.change.kind].read_fields if self.passages else ()
        return diff_fields({name: pair for name, pair in self.change.fields.items() if name not in help_fields})

    @property
    def tokens(self) -> TokenCounts:
        """By how many tokens its short and its full help grew; negative if they shrank."""
        (short, full), (short_after, full_after) = self.before or (0, 0), self.after or (0, 0)
        return short_after - short, full_after - full


def compare_snapshots(
    before: Snapshot, after: Snapshot, *, editors: Mapping[tuple[str, str], Sequence[str]] | None = None
) -> list[EntryDifference]:
    """Return the entries that changed between two snapshots (see registry.snapshot.snapshot).

    `editors` is {(kind, name): users}, as registry.drafts.history.editors returns it.
    """
    return build_differences(diff.diff_snapshots(before, after), before, after, editors=editors)


def build_differences(
    selected: Sequence[CopyChange],
    before: Snapshot,
    after: Snapshot,
    *,
    editors: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> list[EntryDifference]:
    """Return given changes between two snapshots, with what a model reads about them before and after."""
    ops = {change.name for change in selected if change.kind == Kind.OP}
    sides = [_SnapshotHelp.build(content, ops) for content in (before, after)]
    differences = []
    for change in selected:
        old, new = (side.get_texts(change) for side in sides)
        tokens_before, tokens_after = (
            side.tokens.get(change.name) if change.kind == Kind.OP else None for side in sides
        )
        change_editors = tuple((editors or {}).get((change.kind, change.name), ()))
        differences.append(
            EntryDifference(
                change, tuple(_iter_changed_passages(old, new)), tokens_before, tokens_after, change_editors
            )
        )
    return differences


def _is_text_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def diff_help_bodies(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ChangedPassage, ...]:
    """Return what changed for a model between two bodies of full help. An empty body means no help."""
    return tuple(_iter_changed_passages(dict(_iter_help_parts(before)), dict(_iter_help_parts(after))))


def diff_fields(fields: Mapping[str, Sequence[Any]]) -> tuple[ChangedPassage, ...]:
    """Return the differences of some fields, given as {name: (before, after)}: texts word by word, others by line.

    A policy has a passage for each kind of rule, with a line for each rule.
    """
    parts = (part for name, (before, after) in fields.items() for part in _split_policy(name, before, after))
    return tuple(_diff_field(*part) for part in parts)


def _split_policy(name: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if name != "policy":
        yield name, before, after
        return
    for kind in dict.fromkeys([*(before or {}), *(after or {})]):
        pair = [(policy or {}).get(kind, []) for policy in (before, after)]
        if pair[0] != pair[1]:
            yield f"policy, {kind.replace('_', ' ')}", *pair


def _diff_field(name: str, before: Any, after: Any) -> ChangedPassage:
    if _is_text_list(before) and _is_text_list(after):
        return ChangedPassage(name, diff_lines("\n".join(before or ()), "\n".join(after or ())))
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        return ChangedPassage(name, diff_lines(_format_json(before), _format_json(after)), is_json=True)
    return ChangedPassage(name, diff_words(_format_value(before), _format_value(after)))


@dataclass(frozen=True)
class _SnapshotHelp:
    """One of the two snapshots: its entries, and the help of its changed ops."""

    entries: dict[Kind, dict[str, Entry]]
    bodies: dict[str, dict[str, Any]]  # op -> its full help
    tokens: dict[str, TokenCounts]

    @classmethod
    def build(cls, content: Snapshot, ops: set[str]) -> "_SnapshotHelp":
        entries = {kind: diff.index_entries(content, kind) for kind in COPY_KINDS}
        # An op that would break serving has no help; its fields are still compared.
        served = [op for op in content["ops"] if op["op"] in ops and not checks.find_op_errors(op)]
        text = json_text.canonicalize({"groups": [], "ops": served})  # a release is served in this key order
        catalog = builder.build_catalog("", json_text.load(text))
        bodies, tokens = {}, {}
        for path in (path for path, op in catalog.ops.items() if op.is_active):
            short, full = (
                help_pages.answer_query(catalog, HelpQuery(path=path, format=form)).body for form in _HELP_FORMS
            )
            bodies[path], tokens[path] = (
                json_text.load(full),
                (token_budget.count(short), token_budget.count(full)),
            )
        return cls(entries, bodies, tokens)

    def get_texts(self, change: CopyChange) -> dict[str, str]:
        """Return what a model reads about an entry, as {label: text}."""
        if change.kind == Kind.OP:
            return dict(_iter_help_parts(self.bodies.get(change.name, {})))
        entry = self.entries[change.kind].get(change.name, {})
        read_fields = COPY_KINDS[change.kind].read_fields
        return {name: _format_value(entry[name]) for name in read_fields if entry.get(name)}


_HELP_FORMS: tuple[Literal["short", "full"], ...] = ("short", "full")


def _iter_help_parts(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for each part of a body of full help."""
    for name in ("kind", "summary", "description"):
        if name in body:
            yield name, body[name]
    if "usage" in body:
        yield "usage", _to_json(body["usage"])
    for argument in body.get("args", []):
        yield f"argument {argument['name']}", _format_argument(argument)
    for name, texts in body.get("policy", {}).items():
        yield name, "\n".join(texts)
    if "notes" in body:
        yield "notes", body["notes"]
    for number, example in enumerate(body.get("examples", []), start=1):
        yield f"example {number}", _to_json(example)


def _format_argument(argument: dict[str, Any]) -> str:
    lines = [argument["type"], "required" if argument["required"] else "optional"]
    lines += [f"{name} {_to_json(argument[name])}" for name in ("default", "enum") if name in argument]
    return "\n".join(filter(None, [", ".join(lines), argument.get("description", "")]))


def _to_json(value: Any) -> str:
    return json_text.dump(value).decode()


def _format_json(value: Any) -> str:
    """Return a field as JSON with a line for each member, in the order of their names; "" if it is empty."""
    if value in (None, "", [], {}):
        return ""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _format_value(value: Any) -> str:
    """Return a field as text; "" if it is empty."""
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _iter_changed_passages(before: dict[str, str], after: dict[str, str]) -> Iterator[ChangedPassage]:
    for label in dict.fromkeys([*after, *before]):
        old_text, new_text = before.get(label, ""), after.get(label, "")
        if old_text != new_text:
            yield ChangedPassage(label, diff_words(old_text, new_text))
