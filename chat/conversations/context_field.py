"""The context of a conversation in requests and addresses."""

from typing import Any

from rest_framework import serializers

from chat.context.place import CALENDAR, GLOBAL, PROJECT, TASK


class ContextField(serializers.Serializer[Any]):
    """Where the user is."""

    type = serializers.ChoiceField(choices=[PROJECT, TASK, CALENDAR, GLOBAL])
    project_id = serializers.UUIDField(required=False)
    entity_id = serializers.UUIDField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that the row is named that the type needs."""
        if attrs["type"] == PROJECT and "project_id" not in attrs:
            raise serializers.ValidationError("A context of the type project needs project_id.")
        if attrs["type"] == TASK and "entity_id" not in attrs:
            raise serializers.ValidationError("A context of the type task needs entity_id, the task's id.")
        return {name: value if name == "type" else str(value) for name, value in attrs.items()}
