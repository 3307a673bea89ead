"""What forms take: JSON as strictly as the API does, lists line by line, and text without a browser's CR."""

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from core import jsonplaces, strictjson

TOLD = 5  # lines that an error names


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
        """Return the value; of nothing, where that may be left out, the column's own. Raises ValidationError.

        Where the place is known, its `params` have `line` and `column`.
        """
        if isinstance(value, str) and value.strip():
            try:
                strictjson.loads(value.encode("utf-8", "surrogatepass"))
            except strictjson.NotStrictJSON as error:
                raise _refused(value, error) from None
        elif not self.required and callable(self.initial):
            return self.initial()
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what was typed as it was typed: an error names its lines, and whoever indented it wants it so."""
        return InvalidJSONInput(data) if isinstance(data, str) and not self.disabled else initial


class PlainTextField(forms.CharField):
    """Text of several lines, whose ends browsers send as CR LF: a model would read, and pay for, every CR."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n")


class SentenceField(forms.CharField):
    """One line that is edited in several: it has no end of a line in it."""

    def to_python(self, value: Any) -> str:
        """Return the text with a space for each end of a line."""
        return re.sub(r"\s*[\r\n]\s*", " ", super().to_python(value) or "")


class LinesField(forms.CharField):
    """A list of texts, one a line. Spaces around them, empty lines and what stands twice make no difference."""

    def __init__(self, *, longest: int, encoder: Any = None, decoder: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # encoder and decoder are a JSON column's, which a form has no use for
        self.longest = longest

    def prepare_value(self, value: Any) -> Any:
        """Return a list as it is edited; what was typed stays as it was typed."""
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the list. Raises ValidationError, which names each line that cannot be one of it."""
        if isinstance(value, list):
            return value
        lines = [line.strip() for line in re.split(r"\r\n|\r|\n", value or "")]
        problems = [(number, self._problem(line)) for number, line in enumerate(lines, start=1)]
        if told := [f"Line {number}: {problem}" for number, problem in problems if problem]:
            raise ValidationError(told[:TOLD])
        return list(dict.fromkeys(filter(None, lines)))

    def _problem(self, line: str) -> str:
        if len(line) > self.longest:
            return f"give at most {self.longest:,} characters, these are {len(line):,}."
        hidden = next((character for character in line if not character.isprintable()), "")
        return f"leave out the character that cannot be seen (U+{ord(hidden):04X})." if hidden else ""


def _refused(text: str, error: strictjson.NotStrictJSON) -> ValidationError:
    at = jsonplaces.repeated(text) if error.code == "duplicate_key" else error.at
    if at is None:
        return ValidationError(str(error).replace("The body", "The JSON"), code="invalid")
    line, column = jsonplaces.line_and_column(text, at)
    said = str(error) if error.code == "duplicate_key" else f"This is not JSON: {error.problem}."
    place = {"line": line, "column": column, "said": said}
    return ValidationError("Line %(line)d, column %(column)d: %(said)s", code="invalid", params=place)
