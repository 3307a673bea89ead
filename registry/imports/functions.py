"""Functions of a provider's list as ops."""

from typing import Any

from registry.imports import danger, op_paths, schema_repair
from registry.imports.danger import Danger
from registry.imports.import_source import MAX_SEGMENT, ImportSource, ParsedToolName, Refusal, SourceOp
from registry.imports.openai import FunctionDefinition, FunctionList
from registry.jsonschema.arguments import list_required_alternatives
from registry.jsonschema.dialect import Schema
from registry.models import Op
from registry.text import cleanup, flow_words


def read_functions(document: FunctionList, group: str) -> ImportSource:
    """Return the ops of a list. A function whose schema would break serving is refused."""
    refusals = [Refusal(each.name, each.reason) for each in document.refusals]
    schemas: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for function in document.functions:
        try:
            schemas[function.name] = schema_repair.repair_parameters(function.parameters)
        except schema_repair.UnusableParameters as error:
            refusals.append(Refusal(function.name, str(error)))
    functions = [function for function in document.functions if function.name in schemas]
    parsed_names = op_paths.parse_tool_names(functions, group)
    ops = [_build_op(function, parsed_names[function.name], *schemas[function.name]) for function in functions]
    return ImportSource(ops, refusals, tools_text=document.text)


def _build_op(function: FunctionDefinition, parsed: ParsedToolName, schema: Schema, repairs: list[str]) -> SourceOp:
    risk = danger.judge_function(function.name, parsed, cleanup.write_summary(function.description, function.name))
    return SourceOp(
        function.name,
        parsed,
        function.name,
        build_fields(function, parsed, schema, risk),
        [*repairs, *risk.remarks, *find_remarks(function)],
        confirm=risk.asks_first,
    )


def find_remarks(function: FunctionDefinition) -> list[str]:
    """Return what an admin should review in a function, one sentence each."""
    remarks = cleanup.find_remarks([function.name, function.description, function.parameters])
    if len(function.description.strip()) > cleanup.MAX_DESCRIPTION:
        remarks.append(f"Its description was cut to {cleanup.MAX_DESCRIPTION} characters.")
    return remarks


def build_fields(function: FunctionDefinition, parsed: ParsedToolName, schema: Schema, risk: Danger) -> dict[str, Any]:
    """Return the fields of the op's entry."""
    summary = cleanup.write_summary(function.description, function.name)
    description = cleanup.clean_description(function.description)
    fields: dict[str, Any] = {
        "kind": Op.Kind.WRITE if parsed.is_write or risk.is_harmful else Op.Kind.READ,
        "entity": parsed.entity[:MAX_SEGMENT],
        "action": risk.choose_action(parsed)[:MAX_SEGMENT],
        "summary": summary,
        "description": "" if description.rstrip(".") == summary else description,
        "notes": _write_notes(schema),
    }
    is_write = fields["kind"] == Op.Kind.WRITE
    fields["flow_labels"] = flow_words.find_flow_labels([function.name], is_write=is_write)
    return {name: value for name, value in fields.items() if value} | {
        "needs_subject": True,
        "parameters_schema": schema,
    }


def _write_notes(schema: Schema) -> str:
    """Return a sentence with the alternative sets of required arguments, which a signature cannot show."""
    alternatives = [" with ".join(names) for names in list_required_alternatives(schema)]
    return f"Send {' or '.join(alternatives)}."[: cleanup.MAX_DESCRIPTION] if alternatives else ""
