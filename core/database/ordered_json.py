"""A column for JSON that is shown again as it came: the keys of objects keep their order."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class OrderedJSONField(models.JSONField):
    """JSON, stored as text. PostgreSQL's jsonb sorts keys by length: an object is another text when it is read again.

    The text is for programs to read as a whole: SQL cannot look into it.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        """Return the type of the column."""
        return "text" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """Return the text to store."""
        return json.dumps(value, cls=self.encoder)
