"""JSON in forms: taken as strictly as the API takes it, shown as a person edits it."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from core import strictjson


class PrettyJSON(json.JSONEncoder):
    """JSON as a person edits it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "indent": 2, "ensure_ascii": False})


class StrictJSON(json.JSONDecoder):
    """JSON as the API takes it: what PostgreSQL or a release could not hold is not JSON here."""

    def decode(self, s: str, *args: Any) -> Any:
        try:
            return strictjson.loads(s.encode("utf-8", "surrogatepass"))
        except strictjson.NotStrictJSON as error:
            raise json.JSONDecodeError(str(error), s[:50], 0) from None


class StrictJSONField(forms.JSONField):
    """A form's JSON, refused with the sentence that says why. The column's own decoder is for reading the database."""

    def __init__(self, encoder: Any = None, decoder: Any = None, **kwargs: Any) -> None:
        super().__init__(encoder=PrettyJSON, decoder=StrictJSON, **kwargs)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip():
            try:
                strictjson.loads(value.encode("utf-8", "surrogatepass"))
            except strictjson.NotStrictJSON as error:
                raise ValidationError(str(error).replace("The body", "The JSON"), code="invalid") from None
        return super().to_python(value)
