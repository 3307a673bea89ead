"""Operations of an OpenAPI document as ops."""

import json

from registry.imports.import_source import ImportSource, SourceOp
from registry.imports.openapi import OpenApiDocument, Operation
from registry.imports.parsed_names import MAX_SEGMENT
from registry.models import Op
from registry.text import cleanup

MAX_WORD = 60


def build_source(document: OpenApiDocument, *, whole: OpenApiDocument) -> ImportSource:
    """Return the operations of a document as ops. `whole` is the document before operations were picked."""
    picked = {operation.name for operation in document.operations}
    return ImportSource(
        [_build_op(operation) for operation in document.operations],
        document.refusals,
        other_names=whole.names - picked,
        tools_text=_write_tools(document),
        unit="operations",
    )


def _build_op(operation: Operation) -> SourceOp:
    mapped, parsed = operation.mapped, operation.parsed
    is_repeated = mapped.description.rstrip(".") == mapped.summary
    fields = {
        "kind": Op.Kind.WRITE if mapped.is_write else Op.Kind.READ,
        "entity": parsed.entity[:MAX_SEGMENT],
        "action": mapped.risk.choose_action(parsed)[:MAX_SEGMENT],
        "category": (operation.tags[0] if operation.tags else "")[:40],
        "summary": mapped.summary,
        "description": "" if is_repeated else mapped.description,
        "notes": mapped.notes,
        "keywords": list(mapped.keywords),
        "request": mapped.request,
        "examples": [{"args": args} for args in mapped.examples],
    }
    remarks = [
        *mapped.remarks,
        *mapped.risk.remarks,
        *cleanup.find_remarks([operation.name, mapped.description, mapped.schema]),
    ]
    return SourceOp(
        operation.name,
        parsed,
        operation.tool_name,
        {name: value for name, value in fields.items() if value}
        | {"needs_subject": False, "parameters_schema": mapped.schema},
        remarks,
        confirm=mapped.risk.asks_first,
    )


def _write_tools(document: OpenApiDocument) -> str:
    """Return the operations as a model would get them without a gateway: a list of functions in compact JSON."""
    functions = [
        {"name": each.tool_name, "description": each.mapped.description, "parameters": each.mapped.schema}
        for each in document.operations
    ]
    return json.dumps(functions, ensure_ascii=False, separators=(",", ":"))
