"""Parts that the schemas of the OpenAPI document are built from."""

from collections.abc import Iterable
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
# Without additionalProperties, some client generators make a type without members of it.
OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}


def build_ref(name: str) -> dict[str, Any]:
    """Return a reference to a named component."""
    return {"$ref": f"#/components/schemas/{name}"}


def build_object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the schema of an object with exactly these members; `more` has other keywords.

    An object that is not a component of its own gets a name from client generators, after the place where it is.
    """
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def build_array(items: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list. Without `items`, some client generators leave out everything that contains it."""
    return {"type": "array", "items": items}


def build_enum(values: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a string that is one of these."""
    return {**TEXT, "enum": list(values)}
