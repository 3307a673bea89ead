"""Map one operation: its args as a schema, how they become a request, and its texts in help."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry import request_mapping
from registry.imports import danger
from registry.imports.danger import Danger
from registry.imports.openapi import parameters, swagger, texts
from registry.imports.openapi.bodies import BodyPlan, BodyReader
from registry.imports.openapi.parameters import Argument, assign_names, build_schema
from registry.imports.openapi.references import Located, References
from registry.imports.openapi.requests import media_types
from registry.imports.openapi.requests.path_templates import PathTemplate, UnusablePath, parse_path
from registry.imports.openapi.requests.recorder import DocumentedRequest, describe_request
from registry.imports.openapi.schemas import SchemaConverter
from registry.jsonschema import fitting_values, schema_check, validator
from registry.result_row import Outline

MAX_EXAMPLES = 2

Schema = dict[str, Any]


class RefusedOperation(Exception):
    """An operation cannot become an op. The message says why."""


@dataclass(frozen=True, slots=True)
class MappedOperation:
    """What an operation takes, sends and says. `request` is a request mapping, `examples` are valid args."""

    operation_id: str
    tags: tuple[str, ...]
    summary: str
    description: str
    notes: str
    is_write: bool
    risk: Danger
    is_deprecated: bool
    lists: bool
    has_own_summary: bool
    schema: Schema
    request: dict[str, Any]
    documented: DocumentedRequest  # to check `request` with
    answer: Outline
    examples: tuple[Schema, ...] = ()
    keywords: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class OperationMapper:
    """Maps the operations of one document. Schemas that several refer to are converted once."""

    def __init__(self, document: Mapping[str, Any], references: References, url: str) -> None:
        self._references = references
        self._converter = SchemaConverter(references)
        self._is_swagger = "swagger" in document and "openapi" not in document
        self._consumes = _list_texts(document.get("consumes"))
        self._produces = _list_texts(document.get("produces"))

    def map(self, method: str, path: str, operation: Located, all_parameters: list[Located]) -> MappedOperation:
        """Return the operation with these parameters. Raises RefusedOperation or DanglingReference."""
        uses: set[str] = set()
        remarks: list[str] = []
        try:
            template = parse_path(path)
        except UnusablePath as error:
            raise RefusedOperation(str(error)) from None
        reader = BodyReader(self._references, self._converter, uses)
        selected = self._select_parameters(all_parameters, reader, remarks)
        arguments = parameters.build_arguments(template, selected, self._converter, uses, is_swagger=self._is_swagger)
        body = self._find_body(operation, all_parameters)
        plan = reader.plan(body) if method != "HEAD" else None
        listed = [*arguments, *(plan.arguments if plan else ())]
        assign_names(listed)
        schema, is_cut = self._build_schema(listed, plan.additional if plan else None, uses)
        remarks += [*(plan.remarks if plan else ()), *fitting_values.drop_unfit_defaults(schema)]
        if is_cut:
            remarks.append("Its args refer to large schemas, whose deepest parts accept any value.")
        accept = media_types.build_accept(
            texts.list_answer_types(operation, self._references, is_swagger=self._is_swagger, produces=self._produces)
        )
        request = _build_request(method, template, arguments, plan, accept)
        if problems := request_mapping.find_problems(request, [each.name for each in listed]):
            raise RefusedOperation(" ".join(problems))
        value = operation.value
        operation_id = value.get("operationId") if isinstance(value.get("operationId"), str) else ""
        description = texts.write_description(value)
        is_deprecated = value.get("deprecated") is True
        answer = texts.describe_answer(
            operation, self._references, is_swagger=self._is_swagger, produces=self._produces
        )
        is_write, risk = danger.judge_operation(method, path, operation_id, description)
        return MappedOperation(
            operation_id=operation_id,
            tags=tuple(tag[:100] for tag in value.get("tags", ()) if isinstance(tag, str))
            if isinstance(value.get("tags", ()), list)
            else (),
            summary=texts.write_summary(value, operation_id or f"{method} {path}"),
            description=description,
            notes=texts.write_notes([each.name for each in listed], answer, is_deprecated=is_deprecated),
            is_write=is_write,
            risk=risk,
            is_deprecated=is_deprecated,
            lists=texts.answers_list(operation, self._references, is_swagger=self._is_swagger),
            has_own_summary=bool(value.get("summary")),
            schema=schema,
            request=request,
            documented=describe_request(method, path, selected, body, self._references),
            answer=texts.outline_answer(operation, self._references, is_swagger=self._is_swagger),
            examples=_build_examples(listed, plan, schema),
            remarks=tuple(dict.fromkeys(remarks)),
        )

    def _select_parameters(
        self, all_parameters: list[Located], reader: BodyReader, remarks: list[str]
    ) -> list[Located]:
        """Return the parameters that are not in the body. Raises RefusedOperation for one that nothing can send."""
        selected: list[Located] = []
        for each in all_parameters:
            place = each.value.get("in")
            if place == "querystring":  # OpenAPI 3.2: one parameter is the whole query
                selected += reader.split_query(each) or _refuse_unless_optional(each, remarks)
            elif not self._is_swagger or place not in ("body", "formData"):
                selected.append(each)
        return selected

    def _find_body(self, operation: Located, all_parameters: list[Located]) -> Located:
        """Return the request body in the form of OpenAPI 3; its value is None if there is none."""
        if not self._is_swagger:
            return self._references.follow(operation.value.get("requestBody"), operation.url)
        consumes = _list_texts(operation.value.get("consumes")) or self._consumes
        converted = swagger.convert_body([each.value for each in all_parameters], consumes)
        url = next((each.url for each in all_parameters if each.value.get("in") == "body"), operation.url)
        return Located(converted, url)

    def _build_schema(
        self, arguments: list[Argument], additional: Schema | None, uses: set[str]
    ) -> tuple[Schema, bool]:
        schema, is_cut = self._converter.bundle(build_schema(arguments, additional), uses)
        problems = schema_check.find_problems(schema)
        if problems:  # each schema passes alone, but together they may be too large: keep the names only
            loose = [_loosen(each) for each in arguments]
            schema, is_cut = build_schema(loose, None if additional is None else {}), True
            if problems := schema_check.find_problems(schema):
                raise RefusedOperation(" ".join(problems))
        return schema, is_cut


def _loosen(argument: Argument) -> Argument:
    kept: Schema = {key: argument.schema[key] for key in ("type", "description") if key in argument.schema}
    return Argument(argument.wire_name, argument.location, kept, argument.is_required, name=argument.name)


def _refuse_unless_optional(parameter: Located, remarks: list[str]) -> list[Located]:
    content = parameter.value.get("content")
    names = ", ".join(map(str, content)) if isinstance(content, dict) else "an unknown type"
    problem = f"Its whole query is one value of {names[:60]}, which the gateway does not send."
    if parameter.value.get("required") is True:
        raise RefusedOperation(problem)
    remarks.append(f"{problem} The op has no argument for it.")
    return []


def _build_request(
    method: str, path: PathTemplate, arguments: list[Argument], plan: BodyPlan | None, accept: str
) -> dict[str, Any]:
    request: dict[str, Any] = {"method": method, "path": path.path}
    if listed := [_name_entry(each) for each in arguments]:
        request["parameters"] = listed
    if path.query:
        request["query_string"] = path.query
    if accept != request_mapping.JSON_TYPE:
        request["accept"] = accept
    if plan is not None:
        body: dict[str, Any] = {"content_type": plan.content_type}
        if plan.is_whole:
            body["argument"] = plan.arguments[0].name
            body |= {"properties": plan.members} if plan.members else {}
            body |= {"more_files": True} if plan.more_files else {}
            body |= {"is_text": True} if plan.is_text else {}
        else:
            body |= {"additional": True} if plan.additional is not None else {}
            body |= {"more_files": True} if plan.more_files else {}
            body["properties"] = {
                each.name: ({"name": each.wire_name} if each.name != each.wire_name else {}) | each.mapping
                for each in plan.arguments
            }
        request["body"] = body
    return request


def _name_entry(argument: Argument) -> dict[str, Any]:
    if argument.name == argument.wire_name:
        return argument.mapping
    return {**argument.mapping, "argument": argument.name}


def _build_examples(arguments: list[Argument], plan: BodyPlan | None, schema: Schema) -> tuple[Schema, ...]:
    """Return up to two calls made of the document's valid examples."""
    base = {each.name: each.example for each in arguments if each.has_example and _fits(each, plan)}
    candidates: list[Schema] = []
    for whole in plan.examples if plan else ():
        if plan and plan.is_whole:
            candidates.append(base | {plan.arguments[0].name: whole})
        elif plan and isinstance(whole, dict):
            names = {each.wire_name: each.name for each in plan.arguments}
            candidates.append(base | {names[key]: item for key, item in whole.items() if key in names})
    if not candidates and base:
        candidates = [base, {name: value for name, value in base.items() if name in schema.get("required", ())}]
    most = MAX_EXAMPLES if plan and plan.examples else 1
    valid: list[Schema] = []
    for args in candidates:
        if args and args not in valid and not validator.find_instance_problems(schema, args):
            valid.append(args)
        if len(valid) == most:
            break
    return tuple(valid)


def _fits(argument: Argument, plan: BodyPlan | None) -> bool:
    """Return whether an argument's own example belongs into a call: not if the body has a whole example."""
    return not (plan and plan.examples and argument.location in ("property", "body"))


def _list_texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
