"""Parts that the schemas of the OpenAPI document are built from."""

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
OBJECT: dict[str, Any] = {"type": "object"}


def build_ref(name: str) -> dict[str, Any]:
    """Return a reference to a named component."""
    return {"$ref": f"#/components/schemas/{name}"}


def build_object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the schema of an object with exactly these members; `more` has other keywords."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def build_array(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects with exactly these members."""
    return {"type": "array", "items": build_object(required, optional)}
