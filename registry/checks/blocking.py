"""What would break serving: found in files before they are loaded and in the draft before it is published."""

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

SURFACE_PROMPT = "_surface"  # ends the name of the prompt of a surface: gateway_surface
GATEWAY_TOOLS = frozenset(("tool_help", "tool_exec", "tool_batch"))  # held against gateway.tools by a test
_WORDS = re.compile(r"[\w.-]+")


def _rule(name: str, what: str, fix: str) -> Rule:
    return Rule(name, what, fix, Severity.BLOCKS)


NAME_TAKEN = _rule(
    "name_taken",
    "A path, tool name or alias that another op or a group has.",
    "Give each name to one op.",
)
GROUP_REPEATED = _rule("group_repeated", "Two groups with one path.", "Leave one of them.")
GROUP_MISSING = _rule(
    "group_missing", "An op or a group that lies in no group.", "Add it, so that the path can be walked to."
)
SUCCESSOR_UNKNOWN = _rule("successor_unknown", "A successor that is no op.", "Name an op that exists.")
SCHEMA_INVALID = _rule(
    "schema_invalid",
    "An argument schema that is no JSON Schema 2020-12 of an object, refers to something outside itself, or costs too "
    "much to check.",
    "Write a JSON Schema 2020-12 of an object.",
)
UNSENDABLE = _rule(
    "unsendable", "Text or a number that JSON cannot carry.", "Use text and numbers that JSON can carry."
)
EXAMPLE_INVALID = _rule(
    "example_invalid",
    "An example that the op's own schema refuses.",
    "Write args that the schema takes, or widen the schema.",
)
ALIAS_WRONG = _rule(
    "argument_alias_wrong",
    "An argument alias that is an argument itself, or stands for none.",
    "Map a name that is no argument to one that is.",
)
DISPLAY_WRONG = _rule(
    "display_only_wrong", "A display-only name that is an argument.", "Take it out of one of the two."
)
WITHOUT_ID_WRONG = _rule(
    "without_id_wrong",
    "An op to run where an id is left out that does not exist, writes, or needs arguments itself.",
    "Name an op that exists, only looks and runs without any argument.",
)
SECTION_REPEATED = _rule(
    "section_repeated", "Two sections of a prompt with one name.", "Give each one a name of its own."
)
OFF_SURFACE = _rule(
    "names_what_is_not_shown",
    "A section of a surface's prompt that names what the model is not handed there: tools on the gateway surface, the "
    "gateway's tools and paths of ops on the legacy one.",
    "Say it without the name.",
)
FILE_INVALID = _rule(
    "file_invalid", "A catalog file that has not the form of one.", "Write it as the shipped files are written."
)

RULES = (
    *(NAME_TAKEN, GROUP_REPEATED, GROUP_MISSING, SUCCESSOR_UNKNOWN, SCHEMA_INVALID, UNSENDABLE, EXAMPLE_INVALID),
    *(ALIAS_WRONG, DISPLAY_WRONG, WITHOUT_ID_WRONG, SECTION_REPEATED, OFF_SURFACE),
    FILE_INVALID,
)


def problems(content: dict[str, Any], *, frozen: str | None = None, sound: Collection[str] = ()) -> list[Finding]:
    """Return everything that blocks a snapshot (see registry.snapshot), in the order of its ops.

    `frozen` is its canonical form, where that is there already: what is in it can be sent. `sound` are the paths of ops
    that nothing blocks by themselves: they are only held against the others.
    """
    found = [*_name_problems(content)]
    ops = {op["op"]: op for op in content["ops"]}
    is_sendable = frozen is not None and not _holds_nul(frozen)
    for op in content["ops"]:
        found += op_problems(op, is_sendable=is_sendable) if op["op"] not in sound else ()
        found += without_id_problems(op, ops)
    return found + list(_section_problems(content.get("sections", []), content["ops"]))


def op_problems(op: dict[str, Any], *, is_sendable: bool = False) -> list[Finding]:
    """Return everything that blocks an op by itself, whatever stands beside it; `is_sendable` where that is known."""
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
            message = f"{alias} must be no argument, and stand for one that is."
            found.append(ALIAS_WRONG.found(path, "argument_aliases", message))
        if len(members) > 1 or not all((head, *members)):
            message = f"{alias} must be a name, or two with a dot between: an object and its member."
            found.append(ALIAS_WRONG.found(path, "argument_aliases", message, "Write a name, or object.member."))
    for name in op.get("display_only", []):
        if name in named:
            found.append(DISPLAY_WRONG.found(path, "display_only", f"{name} is an argument."))
    return found


def name_problems(
    op: dict[str, Any], *, names: Mapping[str, str], groups: Collection[str], paths: Collection[str]
) -> Iterator[Finding]:
    """Yield what blocks the names of one op, held against those of others ({name: path}), all groups and all ops."""
    path, seen = op["op"], set[str]()
    for field, name in _named(op):
        if name in groups:
            yield NAME_TAKEN.found(path, field, f"A group has the path {name} already.", "Rename one of the two.")
        if name in names or name in seen:
            yield NAME_TAKEN.found(path, field, f"{name} already names {names.get(name, path)}.")
        seen.add(name)
    yield from _ancestor_problems(path, groups)
    if (successor := op.get("successor")) and successor not in paths:
        yield SUCCESSOR_UNKNOWN.found(path, "successor", f"{successor} is no op.")


def names_of(op: dict[str, Any]) -> list[str]:
    """Return all that an op is called. A tool may be named by its path, and only that name may stand twice."""
    return [name for _, name in _named(op)]


def without_id_problems(op: dict[str, Any], ops: Mapping[str, dict[str, Any]]) -> Iterator[Finding]:
    """Yield what blocks `without_id`: what runs in place of a read is a read, too, and runs without the argument."""
    path, field = op["op"], "without_id"
    if not (name := op.get(field)):
        return
    instead = ops.get(name)
    if instead is None:
        yield WITHOUT_ID_WRONG.found(path, field, f"{name} is no op.", "Name an op that exists.")
    elif "write" in (op["kind"], instead["kind"]):
        message = "Only a read has it, and only a read can stand in for one."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Name a read, or leave it empty.")
    elif _required(instead):
        message = f"{name} has required arguments."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Name an op that runs without any.")
    if len(_required(op)) != 1 or not _required(op)[0].endswith("_id"):
        message = "It is for an op whose one required argument is an id."
        yield WITHOUT_ID_WRONG.found(path, field, message, "Leave it empty.")


def _section_problems(sections: list[dict[str, Any]], ops: list[dict[str, Any]]) -> Iterator[Finding]:
    """A section is asked for by its name, what it says can be sent, and a surface's names what is on that surface."""
    named = Counter((section["prompt"], section["name"]) for section in sections)
    for (prompt, name), times in named.items():
        if times > 1:
            message = f"{times} sections of this prompt have this name."
            yield SECTION_REPEATED.found(prompt, name, message, "Give each one of its own.")
    for section in sections:
        if unsendable := _unsendable(section["prompt"], section["name"], section):
            yield unsendable
        else:
            yield from off_surface(section, ops)


def off_surface(section: dict[str, Any], ops: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Yield what a section of a surface's prompt names that is not on that surface; `ops` need op and tool_name."""
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
            message = f"The model is not handed {name} on the surface {surface}."
            yield OFF_SURFACE.found(section_name(section), field, message)


def names_in(text: str, names: Collection[str]) -> set[str]:
    """Return which of some names of tools and ops a text says. A plain word of prose (search, fetch) names none."""
    words = {word.strip(".") for word in _WORDS.findall(text)}  # a sentence may end behind a name
    return {word for word in words if word in names and not (word.isalpha() and word == word.lower())}


def _name_problems(content: dict[str, Any]) -> Iterator[Finding]:
    """Every name means one thing, and every op can be walked to."""
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
    """Yield (field, name) of all that an op is called."""
    yield "op", op["op"]
    if op["tool_name"] != op["op"]:
        yield "tool_name", op["tool_name"]
    yield from ((pointer("aliases", index), name) for index, name in enumerate(op.get("aliases", [])))


def _ancestor_problems(path: str, groups: Collection[str], field: str = "op") -> Iterator[Finding]:
    parent = parent_of(path)
    if path != ROOT and parent not in groups:
        yield GROUP_MISSING.found(path, field, f"The group {parent} is missing.")


def _of_sentence(path: str, sentence: str) -> Finding:
    """Return the finding of a sentence about a schema, which may go on with what to do."""
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
        return UNSENDABLE.found(path, field, "The text holds a NUL character.", "Delete it.")
    return None


def _holds_nul(text: str) -> bool:
    """Whether JSON holds the escape of a NUL, and not only text that shows one."""
    return "\\u0000" in text and "\\u0000" in text.replace("\\\\", "")
