"""What fields the entities have, read from the models themselves."""

import re
from typing import Any, cast

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.kinds import KINDS, PROJECT, Kind

ENTITY_TYPES = {f"ontology_{name}": kind for name, kind in KINDS.items()}

# What JSON Schema calls a column; the first class that fits counts.
TYPES: list[tuple[type[Any], dict[str, str]]] = [
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.ForeignKey, {"type": "string", "format": "uuid"}),
    (models.JSONField, {"type": "object"}),
    (models.IntegerField, {"type": "integer"}),
    (models.Field, {"type": "string"}),
]


def info(request: Request) -> Outcome:
    """Answer the fields that an entity is made of, or one of them. Raises Invalid for a name that it does not have."""
    kind, name = ENTITY_TYPES[request.args["entity_type"]], request.args.get("field_name")
    names = kind.fields if kind is PROJECT else ("project_id", *kind.fields)
    if name is not None and name not in names:
        message = f"field_name is no field of a {kind.name}; send one of {', '.join(names)}, or leave it out for all."
        raise invalid([FieldError(path="/field_name", code="unknown_field", message=message, expected=list(names))])
    fields = [_described(each, kind=kind) for each in ([name] if name else names)]
    message = f"The field {name} of a {kind.name}." if name else f"The {len(fields)} fields of a {kind.name}."
    return Outcome(result={"entity_type": request.args["entity_type"], "fields": fields, "message": message})


def _described(name: str, *, kind: Kind) -> dict[str, Any]:
    """Return a field in the words of JSON Schema, without what does not apply to it."""
    field = cast("models.Field[Any, Any]", kind.model._meta.get_field(name))
    told = {
        "name": name,
        **next(words for column, words in TYPES if isinstance(field, column)),
        "required": not (field.blank or field.has_default()),
        "enum": [value for value, _ in field.flatchoices],
        "default": field.get_default() if field.has_default() else None,
        "maxLength": None if field.choices else field.max_length,
        **_limits(field),
        "description": field.help_text,
    }
    return {word: value for word, value in told.items() if value not in (None, "", [], {})}


def _limits(field: "models.Field[Any, Any]") -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for validator in field.validators:
        if isinstance(validator, RegexValidator):
            limits["pattern"] = re.compile(validator.regex).pattern
        elif isinstance(validator, MinValueValidator):
            limits["minimum"] = validator.limit_value
        elif isinstance(validator, MaxValueValidator):
            limits["maximum"] = validator.limit_value
    return limits
