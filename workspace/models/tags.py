"""A model field for a list of tags, stored as one text column with a tag per line so that it is searchable."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

MAX_TAGS = 20
MAX_TAG_LENGTH = 50  # characters of one tag


class TagsField(models.TextField):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """A list of str, stored as lines. Lookups such as icontains match the stored text."""

    def from_db_value(self, value: str | None, *_: Any) -> list[str]:
        """Return the stored lines as a list."""
        return value.split("\n") if value else []

    def to_python(self, value: Any) -> list[str]:
        """Return the text of an admin form, one tag per line, as a list."""
        lines = value.split("\n") if isinstance(value, str) else value or []
        return [line.strip() for line in lines if line.strip()]

    def get_prep_value(self, value: Any) -> str:
        """Return the list as text, one tag per line."""
        return value if isinstance(value, str) else "\n".join(value or [])

    def value_from_object(self, obj: models.Model) -> str:
        """Return the text for an admin form."""
        return self.get_prep_value(super().value_from_object(obj))

    def value_to_string(self, obj: models.Model) -> str:
        """Return the text for serializers."""
        return self.value_from_object(obj)

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        """Raise ValidationError for too many tags, and for tags that are too long or span several lines."""
        super().validate(value, model_instance)
        if len(value) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH or "\n" in tag for tag in value):
            raise ValidationError(
                f"Send at most {MAX_TAGS} tags, each on one line and up to {MAX_TAG_LENGTH} characters."
            )
