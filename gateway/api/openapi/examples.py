"""Examples of requests, responses and errors in the OpenAPI document. They are in examples.yaml."""

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_suffix(".yaml")
JSON = "application/json"
META = {"trace_id": "tr_3594c32cde43d8a08385770d42606a2f", "latency_ms": 1.0, "warnings": []}


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to the operations of the document. Errors are components, because all operations have them."""
    examples = yaml.safe_load(FILE.read_text())
    document["components"]["examples"] = {
        f"Error{status}": {"summary": error["name"], "value": _build_error(error)}
        for status, error in examples["errors"].items()
    }
    for path in document["paths"].values():
        for operation in path.values():
            _add_to_operation(operation, examples)


def _add_to_operation(operation: dict[str, Any], examples: dict[str, Any]) -> None:
    name = operation["operationId"]
    if requests := examples["requests"].get(name):
        operation["requestBody"]["content"][JSON]["examples"] = _name_examples(requests)
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get(JSON)
        if content is None:
            continue
        if content["schema"] == {"$ref": "#/components/schemas/Error"}:
            error = examples["errors"][status]
            content["examples"] = {error["name"]: {"$ref": f"#/components/examples/Error{status}"}}
        else:
            content["examples"] = _name_examples(examples["responses"][name][status])


def _name_examples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in values.items()}


def _build_error(error: dict[str, Any]) -> dict[str, Any]:
    details = {"field_errors": [], "retryable": False, **error["details"]}
    body = {"code": error["code"], "message": error["message"], "details": details}
    return {
        "op": error.get("op"),
        "ok": False,
        "error": {**body, "help_path": error.get("help_path", "root")},
        "meta": META,
    }
