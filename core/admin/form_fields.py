"""Form fields: JSON as strict as the API's, lists with one item per line, and text without the browser's CR."""

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget

from core.text import json_text, notes

MAX_REPORTED_LINES = 5  # lines reported in one error
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class PrettyJSONEncoder(json.JSONEncoder):
    """JSON encoder for editing: indented, with non-ASCII characters as they are."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "indent": 2, "ensure_ascii": False})

    def encode(self, o: Any) -> str:
        """Return the JSON text. Half of a surrogate pair, which no page could show, stays an escape."""
        return super().encode(o).encode("utf-8", "backslashreplace").decode()


class StrictJSONDecoder(json.JSONDecoder):
    """JSON decoder as strict as the API's, but for large integers: it refuses what a release could not store."""

    def decode(self, s: str, *args: Any) -> Any:
        try:
            return json_text.parse(s.encode("utf-8", "surrogatepass"), json_text.CONTENT_LIMITS)
        except json_text.NotStrictJSON as error:
            raise json.JSONDecodeError(str(error), s[:50], 0) from None


class StrictJSONField(forms.JSONField):
    """Form field for strict JSON. Ignores the column's own decoder, which is for reading the database."""

    def __init__(self, encoder: Any = None, decoder: Any = None, **kwargs: Any) -> None:
        super().__init__(encoder=PrettyJSONEncoder, decoder=StrictJSONDecoder, **kwargs)

    def to_python(self, value: Any) -> Any:
        """Return the value, or the column's default for empty optional input. Raises ValidationError.

        The error's `params` have `line` and `column` if the position is known.
        """
        if isinstance(value, str) and value.strip():
            try:
                json_text.parse(value.encode("utf-8", "surrogatepass"), json_text.CONTENT_LIMITS)
            except json_text.NotStrictJSON as error:
                raise _to_validation_error(value, error) from None
        elif not self.required and callable(self.initial):
            return self.initial()
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the text as it was typed: errors refer to its lines, and its indentation stays."""
        return InvalidJSONInput(data) if isinstance(data, str) and not self.disabled else initial


class PlainTextField(forms.CharField):
    """Multi-line text. Converts CR LF, which browsers send, to LF: models would pay for every CR."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n")


class SentenceField(forms.CharField):
    """A text without line breaks, edited in a text area."""

    def to_python(self, value: Any) -> str:
        """Return the text with a space in place of each line break."""
        lines = (super().to_python(value) or "").splitlines()
        return " ".join(filter(None, map(str.strip, lines)))


class NoteField(forms.CharField):
    """A note or a reason for other people. `asked` is what it must say."""

    def __init__(self, *, asked: str, **kwargs: Any) -> None:
        self.asked = asked
        kwargs.setdefault("widget", UnfoldAdminTextareaWidget(attrs={"rows": 2}))
        super().__init__(**{"max_length": 500, **kwargs})

    def validate(self, value: str) -> None:
        """Refuse a note that says nothing."""
        if problem := notes.find_note_problem(value, self.asked):
            raise ValidationError(problem)


class LinesField(forms.CharField):
    """A list of texts, one per line. Strips spaces, and drops empty lines and duplicates."""

    def __init__(self, *, longest: int, encoder: Any = None, decoder: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # a JSON column passes encoder and decoder; they are not used here
        self.longest = longest

    def prepare_value(self, value: Any) -> Any:
        """Return a list as lines; typed text stays as it was typed."""
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the list. Raises ValidationError with a message for each invalid line."""
        if isinstance(value, list):
            return value
        lines = [line.strip() for line in _LINE_BREAK.split(value or "")]
        problems = [(number, self._find_problem(line)) for number, line in enumerate(lines, start=1)]
        if messages := [f"Line {number}: {problem}" for number, problem in problems if problem]:
            raise ValidationError(messages[:MAX_REPORTED_LINES])
        return list(dict.fromkeys(filter(None, lines)))

    def _find_problem(self, line: str) -> str:
        if len(line) > self.longest:
            return f"{len(line):,} characters; the limit is {self.longest:,}."
        invisible = find_invisible(line)
        return f"remove the invisible character {invisible}." if invisible else ""


def find_invisible(text: str) -> str:
    """Return the first control, direction or other invisible character of a text as its code, or ""."""
    invisible = next((character for character in text if not character.isprintable()), "")
    return f"U+{ord(invisible):04X}" if invisible else ""


def _to_validation_error(text: str, error: json_text.NotStrictJSON) -> ValidationError:
    offset = json_text.find_duplicate_key(text) if error.code == "duplicate_key" else error.at
    if offset is None:
        return ValidationError(str(error).replace("The body", "The JSON"), code="invalid")
    line, column = json_text.get_line_and_column(text, offset)
    message = str(error) if error.code == "duplicate_key" else f"Invalid JSON: {error.problem}."
    params = {"line": line, "column": column, "problem": message}
    return ValidationError("Line %(line)d, column %(column)d: %(problem)s", code="invalid", params=params)
