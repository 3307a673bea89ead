"""Draft rows for tests."""

from typing import Any

from registry.models import Connection, Example, Group, Op, OpAlias, PolicyRule
from tests.support.op_entries import schema

TITLED = schema(("title",), title={"type": "string"}, limit={"type": "integer", "default": 5})


def make_op(path: str = "onto.task.add", **fields: Any) -> Op:
    """Save an op that can be published, with a rule of each kind, an example, an alias and the groups above it."""
    for group in ("root", "onto", "onto.task"):
        Group.objects.get_or_create(path=group, defaults={"summary": f"Group {group}"})
    said = {"op": path, "tool_name": path.replace(".", "_"), "kind": "write", "entity": "task", "action": "create"}
    said |= {"summary": f"Add {path}", "parameters_schema": TITLED, "argument_aliases": {"name": "title"}}
    made = Op.objects.create(**said | {"connection": Connection.objects.get_or_create(name="workspace")[0]} | fields)
    for kind in PolicyRule.Kind:
        PolicyRule.objects.create(op=made, kind=kind, text=f"Rule {kind}")
    Example.objects.create(op=made, title="Minimal", args={"title": "Book venue"})
    OpAlias.objects.create(op=made, name=f"{path}.alias")
    return made
