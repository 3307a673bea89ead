"""A list of short texts in one column of text, one a line, so that it is searched like any other text."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

MOST = 20
LONGEST = 50  # characters of one tag


class TagsField(models.TextField):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """Holds a list of str. The database sees lines; lookups such as icontains look into them."""

    def from_db_value(self, value: str | None, *_: Any) -> list[str]:
        """Return the lines as a list."""
        return value.split("\n") if value else []

    def to_python(self, value: Any) -> list[str]:
        """Return what an admin's form sent, a tag a line, as a list."""
        lines = value.split("\n") if isinstance(value, str) else value or []
        return [line.strip() for line in lines if line.strip()]

    def get_prep_value(self, value: Any) -> str:
        """Return the list as lines."""
        return value if isinstance(value, str) else "\n".join(value or [])

    def value_from_object(self, obj: models.Model) -> str:
        """Return what an admin's form shows."""
        return self.get_prep_value(super().value_from_object(obj))

    def value_to_string(self, obj: models.Model) -> str:
        """Return what a dump holds."""
        return self.value_from_object(obj)

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        """Refuse too many, too long ones, and those that are no one line of text."""
        super().validate(value, model_instance)
        if len(value) > MOST or any(len(tag) > LONGEST or "\n" in tag for tag in value):
            raise ValidationError(f"Send at most {MOST} tags of one line and {LONGEST} characters each.")
