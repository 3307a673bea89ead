"""Find what would break serving, in files before they are loaded and in the draft before it is published."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from analytics.rollout.flags import Surface
from core import canonical
from registry import schemas
from registry.checks.finding import Finding, Rule, Severity, pointer
from registry.models import ROOT, parent_of
from registry.snapshot import section_name

SURFACE_PROMPT = "_surface"  # suffix of a surface's prompt name: gateway_surface
GATEWAY_TOOLS = frozenset(("tool_help", "tool_exec", "tool_batch"))  # a test compares these with gateway.tools
_WORDS = re.compile(r"[\w.-]+")


def _rule(name: str, what: str, fix: str) -> Rule:
    return Rule(name, what, fix, Severity.BLOCKS)


NAME_TAKEN = _rule(
    "name_taken",
    "A path, tool name or alias that another op or group already has.",
    "Use each name for one op only.",
)
GROUP_REPEATED = _rule("group_repeated", "Two groups with the same path.", "Delete one of them.")
GROUP_MISSING = _rule(
    "group_missing", "An op or group whose parent group is missing.", "Add the group, so that models can browse to it."
)
SUCCESSOR_UNKNOWN = _rule("successor_unknown", "A successor that does not exist.", "Name an existing op.")
SCHEMA_INVALID = _rule(
    "schema_invalid",
    "An argument schema that is not a JSON Schema 2020-12 for an object, refers to something outside itself, or costs "
    "too much to check.",
    "Write a JSON Schema 2020-12 for an object.",
)
UNSENDABLE = _rule(
    "unsendable", "Text or a number that JSON cannot represent.", "Use text and numbers that JSON can represent."
)
EXAMPLE_INVALID = _rule(
    "example_invalid",
    "An example that is invalid for the op's schema.",
    "Correct the args or widen the schema.",
)
ALIAS_WRONG = _rule(
    "argument_alias_wrong",
    "An argument alias that is itself an argument, or maps to no argument.",
    "Map a name that is not an argument to one that is.",
)
DISPLAY_WRONG = _rule(
    "display_only_wrong", "A display-only name that is also an argument.", "Remove it from one of the two."
)
WITHOUT_ID_WRONG = _rule(
    "without_id_wrong",
    "An op to run if the id is missing that does not exist, writes, or has required arguments.",
    "Name an existing read op without required arguments.",
)
SECTION_REPEATED = _rule(
    "section_repeated", "Two sections of a prompt with the same name.", "Give each section its own name."
)
OFF_SURFACE = _rule(
    "names_what_is_not_shown",
    "A section of a surface's prompt that names something the model does not have there: raw tools on the gateway "
    "surface, gateway tools or op paths on the legacy surface.",
    "Remove the name.",
)
FILE_INVALID = _rule("file_invalid", "A catalog file in the wrong format.", "Follow the format of the shipped files.")

RULES = (
    *(NAME_TAKEN, GROUP_REPEATED, GROUP_MISSING, SUCCESSOR_UNKNOWN, SCHEMA_INVALID, UNSENDABLE, EXAMPLE_INVALID),
    *(ALIAS_WRONG, DISPLAY_WRONG, WITHOUT_ID_WRONG, SECTION_REPEATED, OFF_SURFACE),
    FILE_INVALID,
)


def problems(content: dict[str, Any], *, frozen: str | None = None, sound: Collection[str] = ()) -> list[Finding]:
    """Return the blocking findings of a snapshot (see registry.snapshot), in the order of its ops.

    `canonical_text` is its canonical JSON, if known: its content is sendable. `valid_paths` has the paths of ops
    without findings of their own: they are only checked against other ops.
    """
    found = [*_name_problems(content)]
    ops = {op["op"]: op for op in content["ops"]}
    is_sendable = frozen is not None and not _holds_nul(frozen)
    for op in content["ops"]:
        found += op_problems(op, is_sendable=is_sendable) if op["op"] not in sound else ()
        found += without_id_problems(op, ops)
    return found + list(_section_problems(content.get("sections", []), content["ops"]))


def op_problems(op: dict[str, Any], *, is_sendable: bool = False) -> list[Finding]:
    """Return the blocking findings of one op, without looking at other ops. Pass `is_sendable` if that is known."""
    path, schema = op["op"], op["parameters_schema"]
    try:
        validator = schemas.checked(schema)
    except schemas.Unusable as error:
        return [_of_sentence(path, sentence) for sentence in error.problems]
    if not is_sendable and (unsendable := _unsendable(path, "content", op)):
        return [unsendable]
    found: list[Finding] = []
    named = schema.get("properties", {})
    for index, example in enumerate(op.get("examples", [])):
        found += [
            EXAMPLE_INVALID.found(path, pointer("examples", index), message)
            for message in validator.problems(example["args"], ignoring=op.get("display_only", []))
        ]
    for alias, target in op.get("argument_aliases", {}).items():
        head, *members = alias.split(".")
        if head in named or target not in named:
            message = f"{alias} must not be an argument, and must map to one."
            found.append(ALIAS_WRONG.found(path, "argument_aliases", message))
        if len(members) > 1 or not all((head, *members)):
            message = f"{alias} must be a name, or an object and its member with a dot between."
            found.append(ALIAS_WRONG.found(path, "argument_aliases", message, "Write a name, or object.member."))
    for name in op.get("display_only", []):
        if name in named:
            found.append(DISPLAY_WRONG.found(path, "display_only", f"{name} is an argument."))
    return found


def name_problems(
    op: dict[str, Any], *, names: Mapping[str, str], groups: Collection[str], paths: Collection[str]
) -> Iterator[Finding]:
    """Yield findings about the names of one op. `names` are those of other ops: {name: path}."""
    path, seen = op["op"], set[str]()
    for field, name in _named(op):
        if name in groups:
            yield NAME_TAKEN.found(path, field, f"A group already has the path {name}.", "Rename one of the two.")
        if name in names or name in seen:
            yield NAME_TAKEN.found(path, field, f"{name} is already a name of {names.get(name, path)}.")
        seen.add(name)
    yield from _ancestor_problems(path, groups)
    if (successor := op.get("successor")) and successor not in paths:
        yield SUCCESSOR_UNKNOWN.found(path, "successor", f"There is no op {successor}.")


def names_of(op: dict[str, Any]) -> list[str]:
    """Return the path, tool name and aliases of an op. A tool name equal to the path is listed once."""
    return [name for _, name in _named(op)]


def without_id_problems(op: dict[str, Any], ops: Mapping[str, dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings about `without_id`: the op to run instead must be a read without required arguments."""
    path, field = op["op"], "without_id"
    if not (name := op.get(field)):
        return
    instead = ops.get(name)
    if instead is None:
        yield WITHOUT_ID_WRONG.found(path, field, f"There is no op {name}.", "Name an existing op.")
    elif "write" in (op["kind"], instead["kind"]):
        message = "Both the op and its replacement must be reads."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Name a read op, or leave it empty.")
    elif _required(instead):
        message = f"{name} has required arguments."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Name an op without any.")
    if len(_required(op)) != 1 or not _required(op)[0].endswith("_id"):
        message = "It is only for an op with one required argument that is an id."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Leave it empty.")


def _section_problems(sections: list[dict[str, Any]], ops: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings about prompt sections: unique names, sendable text, and no names missing on their surface."""
    named = Counter((section["prompt"], section["name"]) for section in sections)
    for (prompt, name), times in named.items():
        if times > 1:
            message = f"{times} sections of this prompt have this name."
            yield SECTION_REPEATED.found(prompt, name, message, "Give each section its own name.")
    for section in sections:
        if unsendable := _unsendable(section["prompt"], section["name"], section):
            yield unsendable
        else:
            yield from off_surface(section, ops)


def off_surface(section: dict[str, Any], ops: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings for names in a surface's prompt that are not on that surface. `ops` need op and tool_name."""
    if not section["prompt"].endswith(SURFACE_PROMPT):
        return
    surface = section["prompt"].removesuffix(SURFACE_PROMPT)
    if surface == Surface.GATEWAY:
        hidden = {op["tool_name"] for op in ops if op["tool_name"] != op["op"]}
    elif surface == Surface.LEGACY:
        hidden = {op["op"] for op in ops} | GATEWAY_TOOLS
    else:
        return
    for field in ("title", "text"):
        for name in sorted(names_in(section[field], hidden)):
            message = f"{name} is not available on the {surface} surface."
            yield OFF_SURFACE.found(section_name(section), field, message)


def names_in(text: str, names: Collection[str]) -> set[str]:
    """Return which of the tool and op names a text mentions. A plain lower-case word (search, fetch) does not count."""
    words = {word.strip(".") for word in _WORDS.findall(text)}  # a sentence may end with a name
    return {word for word in words if word in names and not (word.isalpha() and word == word.lower())}


def _name_problems(content: dict[str, Any]) -> Iterator[Finding]:
    """Yield findings for repeated names and for missing groups."""
    groups = {group["path"] for group in content["groups"]} | {ROOT}
    names: dict[str, str] = {}
    paths = {op["op"] for op in content["ops"]}
    for op in content["ops"]:
        yield from name_problems(op, names=names, groups=groups, paths=paths)
        names |= dict.fromkeys(names_of(op), op["op"])
    listed = Counter(group["path"] for group in content["groups"])
    for path, times in listed.items():
        if times > 1:
            yield GROUP_REPEATED.found(path, "path", f"{times} groups have this path.")
        yield from _ancestor_problems(path, groups, "path")


def _named(op: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, name) for the path, tool name and aliases of an op."""
    yield "op", op["op"]
    if op["tool_name"] != op["op"]:
        yield "tool_name", op["tool_name"]
    yield from ((pointer("aliases", index), name) for index, name in enumerate(op.get("aliases", [])))


def _ancestor_problems(path: str, groups: Collection[str], field: str = "op") -> Iterator[Finding]:
    parent = parent_of(path)
    if path != ROOT and parent not in groups:
        yield GROUP_MISSING.found(path, field, f"The group {parent} is missing.")


def _of_sentence(path: str, sentence: str) -> Finding:
    """Return a finding for a schema problem; a second sentence of the problem becomes the fix."""
    message, goes_on, fix = sentence.partition(". ")
    return SCHEMA_INVALID.found(path, "parameters_schema", f"{message}." if goes_on else message, fix)


def _required(op: dict[str, Any]) -> list[str]:
    schema = op["parameters_schema"]
    required = schema.get("required", []) if isinstance(schema, dict) else []
    return required if isinstance(required, list) else []


def _unsendable(path: str, field: str, entry: dict[str, Any]) -> Finding | None:
    try:
        text = canonical.dumps(entry).decode()
    except ValueError as error:
        return UNSENDABLE.found(path, field, f"{error}.")
    if _holds_nul(text):
        return UNSENDABLE.found(path, field, "The text has a NUL character.", "Delete it.")
    return None


def _holds_nul(text: str) -> bool:
    """Return whether JSON has an escaped NUL, and not an escaped backslash before u0000."""
    return "\\u0000" in text and "\\u0000" in text.replace("\\\\", "")
