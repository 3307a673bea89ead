"""Find what would break serving, in files before they are loaded and in the draft before it is published."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from core.text import json_text
from registry import request_mapping
from registry.checks import surface_copy
from registry.checks.finding import NO_AGES, CheckRule, EntryAges, Finding, Severity, join_pointer
from registry.flow_labels import are_flow_labels
from registry.jsonschema import schema_check
from registry.jsonschema.arguments import iter_arguments
from registry.models import ROOT, get_parent_path
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import OpEntry, Snapshot


def _make_blocking_rule(name: str, what: str, fix: str) -> CheckRule:
    return CheckRule(name, what, fix, Severity.BLOCKS)


NAME_TAKEN = _make_blocking_rule(
    "name_taken",
    "A path, tool name or alias that another op or group already has.",
    "Use each name for one op only.",
)
GROUP_REPEATED = _make_blocking_rule("group_repeated", "Two groups with the same path.", "Delete one of them.")
GROUP_MISSING = _make_blocking_rule(
    "group_missing", "An op or group whose parent group is missing.", "Add the group, so that models can browse to it."
)
SUCCESSOR_UNKNOWN = _make_blocking_rule("successor_unknown", "A successor that does not exist.", "Name an existing op.")
SCHEMA_INVALID = _make_blocking_rule(
    "schema_invalid",
    "An argument schema that is not a JSON Schema 2020-12 for an object, refers to something outside itself, or costs "
    "too much to check.",
    "Write a JSON Schema 2020-12 for an object.",
)
UNSENDABLE = _make_blocking_rule(
    "unsendable", "Text or a number that JSON cannot represent.", "Use text and numbers that JSON can represent."
)
EXAMPLE_INVALID = _make_blocking_rule(
    "example_invalid",
    "An example that is invalid for the op's schema.",
    "Correct the args or widen the schema.",
)
ALIAS_WRONG = _make_blocking_rule(
    "argument_alias_wrong",
    "An argument alias that is itself an argument, or maps to no argument.",
    "Map a name that is not an argument to one that is.",
)
DISPLAY_WRONG = _make_blocking_rule(
    "display_only_wrong", "A display-only name that is also an argument.", "Remove it from one of the two."
)
WITHOUT_ID_WRONG = _make_blocking_rule(
    "without_id_wrong",
    "A replacement op for calls without an id that does not exist, writes, or has required arguments.",
    "Name an existing read op without required arguments.",
)
FIELD_INVALID = _make_blocking_rule(
    "field_invalid",
    "A field of an op with a value of the wrong type, such as a number in place of a list of texts.",
    "Enter the value again on the op's page.",
)
FILE_INVALID = _make_blocking_rule(
    "file_invalid", "A catalog file in the wrong format.", "Follow the format of the shipped files."
)
REQUEST_INVALID = _make_blocking_rule(
    "request_invalid",
    "A request that cannot be sent: a wrong method or style, a path without its parameters, an argument sent nowhere.",
    "Say for each argument where it goes in the request.",
)

RULES = (
    NAME_TAKEN,
    GROUP_REPEATED,
    GROUP_MISSING,
    SUCCESSOR_UNKNOWN,
    SCHEMA_INVALID,
    UNSENDABLE,
    EXAMPLE_INVALID,
    ALIAS_WRONG,
    DISPLAY_WRONG,
    WITHOUT_ID_WRONG,
    REQUEST_INVALID,
    FIELD_INVALID,
    FILE_INVALID,
)


def find_errors(
    content: Snapshot,
    *,
    canonical_text: str | None = None,
    valid_paths: Collection[str] = (),
    changes: Iterable[CopyChange] = (),
) -> list[Finding]:
    """Return the blocking findings of a snapshot (see registry.snapshot.snapshot), in the order of its ops.

    `canonical_text` is its canonical JSON, if known: its content is sendable. `valid_paths` has the paths of ops
    without findings: they are only checked against other ops. `changes` are those since the live release:
    if two entries contradict each other, the finding is about the newer one.
    """
    ages = EntryAges.from_changes(changes)
    findings = [*_find_all_name_errors(content, ages)]
    ops = {op["op"]: op for op in content["ops"]}
    is_sendable = canonical_text is not None and not _has_nul(canonical_text)
    for op in content["ops"]:
        findings += find_op_errors(op, is_sendable=is_sendable) if op["op"] not in valid_paths else ()
        findings += find_without_id_errors(op, ops)
    return findings + list(_find_other_errors(content, ages))


def _find_other_errors(content: Snapshot, ages: EntryAges) -> Iterator[Finding]:
    """Yield the findings of everything but ops, which need sendable text for further checks."""
    unsendable = [
        finding
        for kind, copy_kind in COPY_KINDS.items()
        if kind != Kind.OP
        for entry in copy_kind.get_entries(content)
        if (finding := _find_unsendable(copy_kind.get_name(entry), "content", entry, kind))
    ]
    names = {name: op["op"] for op in content["ops"] for name in list_op_names(op)}
    yield from unsendable or surface_copy.find_errors(content, names=names, ages=ages)


def find_op_errors(op: OpEntry, *, is_sendable: bool = False) -> list[Finding]:
    """Return the blocking findings of one op, without looking at other ops. Pass `is_sendable` if that is known."""
    path, schema = op["op"], op["parameters_schema"]
    if invalid := [field for field, is_valid in _FIELD_SHAPES.items() if not is_valid(op.get(field))]:
        return [FIELD_INVALID.make_finding(path, field, f"{field} has a value of the wrong type.") for field in invalid]
    try:
        validator = schema_check.build_validator(schema)
    except schema_check.UnusableSchema as error:
        return [_build_schema_finding(path, sentence) for sentence in error.problems]
    if not is_sendable and (unsendable := _find_unsendable(path, "content", op)):
        return [unsendable]
    findings: list[Finding] = []
    arguments = schema.get("properties", {})
    for index, example in enumerate(op.get("examples", [])):
        findings += [
            EXAMPLE_INVALID.make_finding(path, join_pointer("examples", index), message)
            for message in validator.find_problems(example["args"], ignoring=op.get("display_only", []))
        ]
    for alias, target in op.get("argument_aliases", {}).items():
        head, *members = alias.split(".")
        if head in arguments or target not in arguments:
            message = f"{alias} must not be an argument, and must map to an argument."
            findings.append(ALIAS_WRONG.make_finding(path, "argument_aliases", message))
        if len(members) > 1 or not all((head, *members)):
            message = f"{alias} must be a name, or an object and its member separated by a dot."
            findings.append(
                ALIAS_WRONG.make_finding(path, "argument_aliases", message, "Write a name, or object.member.")
            )
    if request := op.get("request"):
        sendable = [name for name, _, _ in iter_arguments(schema)]
        findings += [
            REQUEST_INVALID.make_finding(path, "request", problem)
            for problem in request_mapping.find_problems(request, sendable)
        ]
    for name in op.get("display_only", []):
        if name in arguments:
            findings.append(DISPLAY_WRONG.make_finding(path, "display_only", f"{name} is an argument."))
    return findings


def find_name_errors(
    op: OpEntry,
    *,
    names: Mapping[str, str],
    groups: Collection[str],
    paths: Collection[str],
    ages: EntryAges = NO_AGES,
) -> Iterator[Finding]:
    """Yield findings about the names of one op, or of a newer group. `names` are those of other ops: {name: path}."""
    path, seen = op["op"], set[str]()
    for field, name in _iter_op_names(op):
        if name in groups and ages.is_newer(Kind.GROUP, name, Kind.OP, path):
            message = f"{name} is already a name of {path}."
            yield NAME_TAKEN.make_finding(name, "path", message, "Rename one of the two.", kind=Kind.GROUP)
        elif name in groups:
            yield NAME_TAKEN.make_finding(
                path, field, f"A group already has the path {name}.", "Rename one of the two."
            )
        if name in names or name in seen:
            yield NAME_TAKEN.make_finding(path, field, f"{name} is already a name of {names.get(name, path)}.")
        seen.add(name)
    yield from _find_missing_group(path, groups)
    if (successor := op.get("successor")) and successor not in paths:
        yield SUCCESSOR_UNKNOWN.make_finding(path, "successor", f"There is no op {successor}.")


def list_op_names(op: OpEntry) -> list[str]:
    """Return the path, tool name and aliases of an op. A tool name equal to the path is listed once."""
    return [name for _, name in _iter_op_names(op)]


def find_without_id_errors(op: OpEntry, ops: Mapping[str, OpEntry]) -> Iterator[Finding]:
    """Yield findings about `without_id`: the op to run instead must be a read without required arguments."""
    path, field = op["op"], "without_id"
    if not (name := op.get("without_id")):
        return
    replacement = ops.get(name)
    if replacement is None:
        yield WITHOUT_ID_WRONG.make_finding(path, field, f"There is no op {name}.", "Name an existing op.")
    elif "write" in (op["kind"], replacement["kind"]):
        message = "Both the op and its replacement must be reads."
        yield WITHOUT_ID_WRONG.make_finding(path, field, message, "Name a read op, or leave it empty.")
    elif _list_required_arguments(replacement):
        message = f"{name} has required arguments."
        yield WITHOUT_ID_WRONG.make_finding(path, field, message, "Name an op without required arguments.")
    if len(_list_required_arguments(op)) != 1 or not _list_required_arguments(op)[0].endswith("_id"):
        message = "This field is only for ops whose one required argument is an id."
        yield WITHOUT_ID_WRONG.make_finding(path, field, message, "Leave it empty.")


def _find_all_name_errors(content: Snapshot, ages: EntryAges) -> Iterator[Finding]:
    """Yield findings for repeated names and for missing groups."""
    groups = {group["path"] for group in content["groups"]} | {ROOT}
    names: dict[str, str] = {}
    paths = {op["op"] for op in content["ops"]}
    for op in sorted(content["ops"], key=lambda op: ages.get_rank(Kind.OP, op["op"])):  # the newest come last
        yield from find_name_errors(op, names=names, groups=groups, paths=paths, ages=ages)
        names |= dict.fromkeys(list_op_names(op), op["op"])
    counts = Counter(group["path"] for group in content["groups"])
    for path, count in counts.items():
        if count > 1:
            yield GROUP_REPEATED.make_finding(path, "path", f"{count} groups have this path.", kind=Kind.GROUP)
        yield from _find_missing_group(path, groups, "path", Kind.GROUP)


def _iter_op_names(op: OpEntry) -> Iterator[tuple[str, str]]:
    """Yield (field, name) for the path, tool name and aliases of an op."""
    yield "op", op["op"]
    if op["tool_name"] != op["op"]:
        yield "tool_name", op["tool_name"]
    yield from ((join_pointer("aliases", index), name) for index, name in enumerate(op.get("aliases", [])))


def _find_missing_group(
    path: str, groups: Collection[str], field: str = "op", kind: Kind = Kind.OP
) -> Iterator[Finding]:
    parent = get_parent_path(path)
    if path != ROOT and parent not in groups:
        yield GROUP_MISSING.make_finding(path, field, f"The group {parent} is missing.", kind=kind)


def _is_text_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_text_map(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(isinstance(item, str) for item in value.values()))


def _is_object(value: Any) -> bool:
    return value is None or isinstance(value, dict)


_FIELD_SHAPES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("contexts", "keywords", "result_fields", "display_only"), _is_text_list),
    **dict.fromkeys(("argument_aliases", "result_row"), _is_text_map),
    "flow_labels": lambda value: value is None or are_flow_labels(value),
    "request": _is_object,
}


def _build_schema_finding(path: str, sentence: str) -> Finding:
    """Return a finding for a schema problem; a second sentence of the problem becomes the fix."""
    message, separator, fix = sentence.partition(". ")
    return SCHEMA_INVALID.make_finding(path, "parameters_schema", f"{message}." if separator else message, fix)


def _list_required_arguments(op: OpEntry) -> list[str]:
    schema = op["parameters_schema"]
    required = schema.get("required", []) if isinstance(schema, dict) else []
    return required if isinstance(required, list) else []


def _find_unsendable(name: str, field: str, entry: Mapping[str, Any], kind: Kind = Kind.OP) -> Finding | None:
    try:
        text = json_text.canonicalize(entry).decode()
    except ValueError as error:
        return UNSENDABLE.make_finding(name, field, f"{error}.", kind=kind)
    if _has_nul(text):
        return UNSENDABLE.make_finding(name, field, "The text has a NUL character.", "Delete it.", kind=kind)
    return None


def _has_nul(text: str) -> bool:
    """Return whether JSON has an escaped NUL, and not an escaped backslash before u0000."""
    return "\\u0000" in text and "\\u0000" in text.replace("\\\\", "")
