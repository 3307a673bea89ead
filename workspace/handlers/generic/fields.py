"""Which fields a kind of row has for reads and writes, and checks of their arguments."""

from re import Pattern
from typing import Any, cast

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import ENTITY_TYPE_BY_NAME, PROJECT, EntityType
from workspace.models.base import TagsField
from workspace.services.entities import changes, serialization
from workspace.services.time import partial_dates

ENTITY_TYPES = {f"ontology_{name}": kind for name, kind in ENTITY_TYPE_BY_NAME.items()}

# JSON Schema type of a column, by field class; the first match counts.
JSON_SCHEMA_TYPES: list[tuple[type[Any], dict[str, str]]] = [
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.DateField, {"type": "string", "format": "date"}),
    (models.ForeignKey, {"type": "string", "format": "uuid"}),
    (models.JSONField, {"type": "object"}),
    (models.IntegerField, {"type": "integer"}),
    (models.FloatField, {"type": "number"}),
    (TagsField, {"type": "array"}),
    (models.Field, {"type": "string"}),
]

# Example value for a column without a default or choices, by field class; the first match counts.
EXAMPLES_BY_CLASS: list[tuple[type[Any], Any]] = [
    (models.DateTimeField, "2026-03-01T09:00:00Z"),
    (models.DateField, "2026-03-01"),
    (models.ForeignKey, "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"),
    (models.JSONField, {"channel": "web"}),
    (models.IntegerField, 1),
    (models.FloatField, 0.5),
    (TagsField, ["web"]),
    (models.SlugField, "website-relaunch"),
    (models.TextField, "What it is about, in a sentence or more."),
    (models.Field, "Website relaunch"),
]
EXAMPLES_BY_NAME = {"type_key": "project.business.launch"}  # every other kind has a default
_KIND_BY_WRITE = {
    f"{action}_onto_{kind.name}": kind for kind in ENTITY_TYPE_BY_NAME.values() for action in ("create", "update")
}
_KIND_BY_LIST = {
    f"{action}_onto_{kind.plural}": kind for kind in ENTITY_TYPE_BY_NAME.values() for action in ("list", "search")
}


def get_field_info(request: OpRequest) -> OpOutcome:
    """Return the fields of an entity type, or one of them. Raises InvalidArgs for an unknown field_name."""
    kind, name = ENTITY_TYPES[request.args["entity_type"]], request.args.get("field_name")
    names = kind.fields if kind is PROJECT else ("project_id", *kind.fields)
    if name is not None and name not in names:
        message = f"field_name is not a field of a {kind.name}; send one of {', '.join(names)}, or omit it for all."
        raise build_invalid_args(
            [ArgumentError(path="/field_name", code="unknown_field", message=message, expected=list(names))]
        )
    fields = [_describe_field(each, kind=kind) for each in ([name] if name else names)]
    message = f"The field {name} of a {kind.name}." if name else f"The {len(fields)} fields of a {kind.name}."
    return OpOutcome(result={"entity_type": request.args["entity_type"], "fields": fields, "message": message})


def _describe_field(name: str, *, kind: EntityType) -> dict[str, Any]:
    """Return a field in JSON Schema terms, without the keywords that do not apply."""
    field = cast("models.Field[Any, Any]", kind.model._meta.get_field(name))
    keywords = {
        "name": name,
        **next(words for column, words in JSON_SCHEMA_TYPES if isinstance(field, column)),
        "required": not (field.blank or field.has_default()),
        "enum": [value for value, _ in field.flatchoices],
        "default": field.get_default() if field.has_default() else None,
        "maxLength": None if field.choices else field.max_length,
        **_get_limits(field),
        "description": field.help_text,
        "example": _get_example(field),
    }
    return {word: value for word, value in keywords.items() if value not in (None, "", [], {})}


def _get_example(field: "models.Field[Any, Any]") -> Any:
    """Return a valid value: the default, else the first choice, else an example of the type."""
    default = field.get_default() if field.has_default() else None
    if default not in (None, "", {}, []):
        return default
    if field.flatchoices:
        return field.flatchoices[0][0]
    return EXAMPLES_BY_NAME.get(field.name) or next(
        value for column, value in EXAMPLES_BY_CLASS if isinstance(field, column)
    )


def _get_limits(field: "models.Field[Any, Any]") -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for validator in field.validators:
        if isinstance(validator, RegexValidator):
            limits["pattern"] = cast("Pattern[str]", validator.regex).pattern.replace(
                r"\Z", "$"
            )  # \Z exists only in Python
        elif isinstance(validator, MinValueValidator):
            limits["minimum"] = validator.limit_value
        elif isinstance(validator, MaxValueValidator):
            limits["maximum"] = validator.limit_value
    return limits


def check_args(tool_name: str, args: dict[str, Any], subject: str) -> list[ArgumentError]:
    """Return the rules that some args of a call break, whatever is stored. Empty for a tool that has no such rules."""
    kind = _KIND_BY_WRITE.get(tool_name) or _KIND_BY_LIST.get(tool_name)
    if kind is None:
        return []
    also = kind.preview_fields if tool_name in _KIND_BY_WRITE else kind.row_fields
    errors = serialization.check_fields(args, (*kind.answer_fields, *also))
    return errors + _check_values(tool_name, args, subject) if tool_name in _KIND_BY_WRITE else errors


def _check_values(tool_name: str, args: dict[str, Any], subject: str) -> list[ArgumentError]:
    kind = _KIND_BY_WRITE[tool_name]
    fields = partial_dates.complete_times(args, kind=kind, subject=subject).fields
    errors = changes.assign_fields(kind.model(), kind=kind, sent=fields, at=timezone.now())
    # A row that exists may have the field that another one requires.
    is_new = tool_name.startswith("create")
    return errors if is_new else [error for error in errors if not error.code.startswith("no_")]
