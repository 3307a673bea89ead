"""Build an op from what an admin fills in: a method, an address and arguments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from django.core.exceptions import ValidationError
from django.db import transaction

from registry.drafts import history
from registry.models import ROOT, Connection, Example, Group, Op, get_parent_path
from registry.request_mapping import JSON_TYPE, READ_METHODS
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange

ARGUMENT_TYPES = ("string", "integer", "number", "boolean", "array", "object")
BODY = "body"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PLACES = [(name, name) for name in ("query", "path", BODY, "header", "cookie")]


@dataclass(frozen=True, slots=True)
class HandMadeArgument:
    """One argument. `place` is that of a parameter, or body, which is JSON; `example` is None if there is none."""

    name: str
    place: str
    type: str
    is_required: bool
    description: str = ""
    example: Any = None


@dataclass(frozen=True, slots=True)
class HandMadeOp:
    """One op. The address is below the connection's base URL, with {names} of arguments and a fixed query."""

    op: str
    summary: str
    description: str
    method: str
    address: str
    is_write: bool
    arguments: Sequence[HandMadeArgument] = field(default_factory=list)
    schema: dict[str, Any] | None = None  # a whole argument schema, instead of one built from the arguments

    def build_request(self) -> dict[str, Any]:
        """Return the request mapping. Placeholders of the address go where it has them."""
        path, _, query = self.address.partition("?")
        request: dict[str, Any] = {"method": self.method, "path": path if path.startswith("/") else f"/{path}"}
        parameters = [{"name": each.name, "in": self._find_place(each)} for each in self.arguments]
        if listed := [each for each in parameters if each["in"] != BODY]:
            request["parameters"] = listed
        if fixed := dict(parse_qsl(query, keep_blank_values=True)):
            request["query"] = fixed
        if names := [each["name"] for each in parameters if each["in"] == BODY]:
            request["body"] = {"content_type": JSON_TYPE, "properties": {name: {} for name in names}}
        return request

    def build_schema(self) -> dict[str, Any]:
        """Return the argument schema."""
        if self.schema is not None:
            return self.schema
        properties = {
            each.name: {"type": each.type} | ({"description": each.description} if each.description else {})
            for each in self.arguments
        }
        required = [each.name for each in self.arguments if each.is_required or self._find_place(each) == "path"]
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {}) | {"additionalProperties": False}

    def list_placeholders(self) -> frozenset[str]:
        """Return the names in braces in the path of the address."""
        return frozenset(_PLACEHOLDER.findall(self.address.partition("?")[0]))

    def _find_place(self, argument: HandMadeArgument) -> str:
        return "path" if argument.name in self.list_placeholders() else argument.place


def list_schema_arguments(schema: dict[str, Any], method: str) -> list[HandMadeArgument]:
    """Return the arguments of a whole schema: in the query of a read, else in the body."""
    properties = schema.get("properties")
    place = "query" if method in READ_METHODS else BODY
    names = properties if isinstance(properties, dict) else {}
    return [HandMadeArgument(str(name), place, "string", is_required=False) for name in names]


def choose_tool_name(path: str) -> str:
    """Return the tool name of an op with this path."""
    return path.replace(".", "_")


@transaction.atomic
def add(made: HandMadeOp, connection: Connection, *, by: str, at: datetime) -> Op:
    """Add the op to the draft, with the groups above it and one example. Raises ValidationError."""
    changes = [_add_group(path) for path in _list_missing_groups(made.op)]
    op = Op(
        op=made.op,
        tool_name=choose_tool_name(made.op),
        kind=Op.Kind.WRITE if made.is_write else Op.Kind.READ,
        entity=made.op.split(".")[-2] if "." in made.op else "",
        action=made.op.rpartition(".")[2],
        summary=made.summary,
        description=made.description,
        parameters_schema=made.build_schema(),
        request=made.build_request(),
        needs_subject=False,
        connection=connection,
    )
    op.full_clean()
    op.save()
    if made.schema is None:  # a whole schema comes without a value for each argument
        args = {each.name: each.example for each in made.arguments if each.example is not None}
        example = Example(op=op, args=args)
        example.full_clean()
        example.save()
    history.record_changes(
        [*changes, CopyChange(Kind.OP, op.op, Action.ADDED)], by=by, at=at, note=f"Added by hand for {connection}"
    )
    return op


def _list_missing_groups(op: str) -> list[str]:
    missing, path = [], get_parent_path(op)
    while path != ROOT and not Group.objects.filter(path=path).exists():
        missing.append(path)
        path = get_parent_path(path)
    return missing[::-1]


def _add_group(path: str) -> CopyChange:
    if Op.objects.filter(op=path).exists():
        raise ValidationError({"op": [f"{path} is an op, so nothing can be below it. Choose another path."]})
    Group.objects.create(path=path, summary=path.rpartition(".")[2].replace("_", " ").capitalize())
    return CopyChange(Kind.GROUP, path, Action.ADDED)
