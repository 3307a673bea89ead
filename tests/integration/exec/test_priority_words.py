"""Priority in words: each argument named priority takes each word from urgent to lowest."""

from typing import Any

NUMBERS = {"urgent": 1, "critical": 1, "highest": 1, "high": 2, "medium": 3, "normal": 3, "low": 4, "lowest": 5}


def find_priority_schemas(schema: Any) -> list[dict[str, Any]]:
    """Return the schema of each argument named priority, at every level."""
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties", {})
    own = [properties["priority"]] if "priority" in properties else []
    return own + [
        inner for part in (*properties.values(), schema.get("items")) for inner in find_priority_schemas(part)
    ]


def test_every_priority_argument_accepts_words(live_catalog: Any) -> None:
    schemas = {path: schema for path, op in live_catalog.ops.items() for schema in find_priority_schemas(op.schema)}

    assert {"onto.task.create", "onto.task.update", "onto.project.create", "onto.requirement.list"} <= set(schemas)
    for schema in schemas.values():
        assert schema.get("items", schema)["x-aliases"] == NUMBERS
