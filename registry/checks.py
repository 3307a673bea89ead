"""What would break serving: found in files before they are loaded and in the draft before it is published."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core import canonical
from registry import schemas
from registry.models import ROOT, parent_of


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a draft cannot be published: the path it concerns, the field, and what to do about it."""

    path: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}, {self.field}: {self.message}"


def problems(content: dict[str, Any]) -> list[Problem]:
    """Return every problem of a snapshot (see registry.snapshot), in the order of its ops."""
    found = [*_name_problems(content)]
    ops = {op["op"]: op for op in content["ops"]}
    for op in content["ops"]:
        found += op_problems(op)
        found += _without_id_problems(op, ops)
    return found + list(_section_problems(content.get("sections", [])))


def _section_problems(sections: list[dict[str, Any]]) -> Iterator[Problem]:
    """A section is asked for by its name, and what it says can be sent."""
    named = Counter((section["prompt"], section["name"]) for section in sections)
    for (prompt, name), times in named.items():
        if times > 1:
            yield Problem(prompt, name, f"{times} sections of this prompt have this name. Give each one of its own.")
    for section in sections:
        for message in _text_problems(section):
            yield Problem(section["prompt"], section["name"], message)


def _name_problems(content: dict[str, Any]) -> Iterator[Problem]:
    """Every name means one thing, and every op can be walked to."""
    groups = {group["path"] for group in content["groups"]} | {ROOT}
    names: dict[str, str] = {}
    paths = {op["op"] for op in content["ops"]}
    for op in content["ops"]:
        path = op["op"]
        # A tool may be named by its path, and only that name may stand twice.
        said = [path, *([op["tool_name"]] if op["tool_name"] != path else []), *op.get("aliases", [])]
        for name in said:
            if name in groups:
                yield Problem(path, "name", f"A group has the path {name} already. Rename one of the two.")
            if name in names:
                yield Problem(path, "name", f"{name} already names {names[name]}. Give each name to one op.")
            names[name] = path
        yield from _ancestor_problems(path, groups)
        if (successor := op.get("successor")) and successor not in paths:
            yield Problem(path, "successor", f"{successor} is no op. Name an op that exists.")
    listed = Counter(group["path"] for group in content["groups"])
    for path, times in listed.items():
        if times > 1:
            yield Problem(path, "path", f"{times} groups have this path. Leave one of them.")
        yield from _ancestor_problems(path, groups)


def _ancestor_problems(path: str, groups: set[str]) -> Iterator[Problem]:
    parent = parent_of(path)
    if path != ROOT and parent not in groups:
        yield Problem(path, "group", f"The group {parent} is missing. Add it, so that the path can be walked to.")


def op_problems(op: dict[str, Any]) -> list[Problem]:
    """Return every problem that an op has by itself, whatever stands beside it."""
    path, schema = op["op"], op["parameters_schema"]
    found = [Problem(path, "parameters_schema", message) for message in schemas.problems(schema)]
    if found:
        return found
    if unsendable := _text_problems(op):
        return [Problem(path, "content", message) for message in unsendable]
    named = schema.get("properties", {})
    for index, example in enumerate(op.get("examples", [])):
        found += [
            Problem(path, f"examples/{index}", message)
            for message in schemas.instance_problems(schema, example["args"], ignoring=op.get("display_only", []))
        ]
    for alias, target in op.get("argument_aliases", {}).items():
        head, *members = alias.split(".")
        if head in named or target not in named:
            found.append(Problem(path, "argument_aliases", f"{alias} must be no argument, and stand for one that is."))
        if len(members) > 1 or not all((head, *members)):
            message = f"{alias} must be a name, or two with a dot between: an object and its member."
            found.append(Problem(path, "argument_aliases", message))
    for name in op.get("display_only", []):
        if name in named:
            found.append(Problem(path, "display_only", f"{name} is an argument. Take it out of one of the two."))
    return found


def _without_id_problems(op: dict[str, Any], ops: dict[str, dict[str, Any]]) -> Iterator[Problem]:
    """What runs in place of a read must be a read, too, and must run without the argument that is missing."""
    if not (name := op.get("without_id")):
        return
    instead = ops.get(name)
    if instead is None:
        yield Problem(op["op"], "without_id", f"{name} is no op. Name an op that exists.")
    elif "write" in (op["kind"], instead["kind"]):
        yield Problem(op["op"], "without_id", "Only a read has it, and only a read can stand in for one.")
    elif _required(instead):
        yield Problem(op["op"], "without_id", f"{name} has required arguments. Name an op that runs without any.")
    if len(_required(op)) != 1 or not _required(op)[0].endswith("_id"):
        yield Problem(op["op"], "without_id", "It is for an op whose one required argument is an id.")


def _required(op: dict[str, Any]) -> list[str]:
    schema = op["parameters_schema"]
    required = schema.get("required", []) if isinstance(schema, dict) else []
    return required if isinstance(required, list) else []


def _text_problems(entry: dict[str, Any]) -> list[str]:
    try:
        text = canonical.dumps(entry).decode()
    except ValueError as error:
        return [f"{error}. Use text and numbers that JSON can carry."]
    if "\\u0000" in text.replace("\\\\", ""):  # the escape of a NUL, not text that shows one
        return ["The text holds a NUL character. Delete it."]
    return []
