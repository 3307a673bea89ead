"""The arguments of an op, as they are gathered from the parameters and the body of an operation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from registry.text.numbered_names import NumberedNames

MAX_NAME = 64

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")

Schema = dict[str, Any]


@dataclass(slots=True)
class Argument:
    """One argument: its name at the upstream, where it goes, its schema, and its part of the request mapping.

    `mapping` is the entry of a parameter, or of a property of the body; for a whole body it is empty.
    """

    wire_name: str
    location: str  # path, query, header, cookie, property or body
    schema: Schema
    is_required: bool
    mapping: dict[str, Any] = field(default_factory=dict)
    example: Any = None
    has_example: bool = False
    name: str = ""  # once `assign_names` has chosen it


def assign_names(arguments: Iterable[Argument]) -> None:
    """Give each argument a name that a model can send. If two have the same, the place of one is appended.

    Properties of the body keep theirs: there are more of them, and examples of bodies use them.
    """
    taken: set[str] = set()
    numbered = NumberedNames()
    for argument in sorted(arguments, key=lambda each: each.location not in ("property", "body")):
        base = _clean_name(argument.wire_name)
        free = next((name for name in (base, f"{base}_{argument.location}") if name not in taken), "")
        argument.name = free or numbered.find_free(base, lambda name: name not in taken)
        taken.add(argument.name)


def build_schema(arguments: Iterable[Argument]) -> Schema:
    """Return the argument schema of an op, without its definitions."""
    listed = list(arguments)
    schema: Schema = {"type": "object", "properties": {each.name: each.schema for each in listed}}
    if required := [each.name for each in listed if each.is_required]:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def _clean_name(wire_name: str) -> str:
    name = wire_name.removesuffix("[]")
    if not _NAME.fullmatch(name):
        name = _OTHER.sub("_", name).strip("_") or "value"
    return name[:MAX_NAME]
