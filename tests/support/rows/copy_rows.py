"""Rows of the draft catalog."""

from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from django.utils import timezone

from registry.drafts import history
from registry.models import Example, Group, Op, OpAlias, PolicyRule
from tests.support.rows.op_entries import build_schema
from tests.support.upstreams import any_upstream

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
TITLE_SCHEMA = build_schema(("title",), title={"type": "string"}, limit={"type": "integer", "default": 5})


def make_op(path: str = "onto.task.add", **fields: Any) -> Op:
    """Create a publishable op with a rule of each kind, an example, an alias and its groups."""
    parents = accumulate(path.split(".")[:-1], "{}.{}".format)
    for group in dict.fromkeys(("root", "onto", "onto.task", *parents)):
        Group.objects.get_or_create(path=group, defaults={"summary": f"Group {group}"})
    values = {"op": path, "tool_name": path.replace(".", "_"), "kind": "write", "entity": "task", "action": "create"}
    values |= {"summary": f"Add {path}", "parameters_schema": TITLE_SCHEMA, "argument_aliases": {"name": "title"}}
    op = Op.objects.create(**values | {"connection": any_upstream.get_or_create_connection()} | fields)
    for kind in PolicyRule.Kind:
        PolicyRule.objects.create(op=op, kind=kind, text=f"Rule {kind}")
    Example.objects.create(op=op, title="Minimal", args={"title": "Book venue"})
    OpAlias.objects.create(op=op, name=f"{path}.alias")
    return op


def change_row(row: Any, *, by: str = "ann", **fields: Any) -> None:
    """Change fields of a row of the draft, with an entry in its history."""
    with history.track_changes([row], by=by, at=timezone.now()):
        for name, value in fields.items():
            setattr(row, name, value)
        row.save()
