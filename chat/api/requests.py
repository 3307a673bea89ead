"""The bodies of requests."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from rest_framework import serializers

from chat.conversations.context_field import ContextField
from chat.errors import ApiError
from core import strict_json

MAX_MESSAGE = 20_000


class DecisionField(serializers.Serializer[Any]):
    """What the user answered to a call that needs their agreement."""

    call_id = serializers.UUIDField()
    approve = serializers.BooleanField()


class StreamRequest(serializers.Serializer[Any]):
    """A message, or a decision about a call of the conversation."""

    message = serializers.CharField(max_length=MAX_MESSAGE, required=False)
    session_id = serializers.UUIDField(required=False, allow_null=True)
    context = ContextField(required=False, allow_null=True)  # type: ignore[assignment]
    decision = DecisionField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that there is something to answer."""
        if bool(attrs.get("message")) == bool(attrs.get("decision")):
            raise serializers.ValidationError("Send either message or decision.")
        if attrs.get("decision") and not attrs.get("session_id"):
            raise serializers.ValidationError("A decision needs session_id, its conversation.")
        decision = attrs.pop("decision", None)
        return attrs | {"decisions": [decision] if decision else []}


class CancelRequest(serializers.Serializer[Any]):
    """Which turn to cancel: that of the message, or the one that runs."""

    message_id = serializers.UUIDField(required=False)


class RenameRequest(serializers.Serializer[Any]):
    """A title by the user."""

    title = serializers.CharField(max_length=60)


def read_body(request: HttpRequest, serializer_class: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the validated body; no body is an empty object. Raises ApiError that names each wrong field."""
    return validate_body(_parse_object(_read_bytes(request) or b"{}"), serializer_class)


def read_json_object(request: HttpRequest) -> dict[str, Any]:
    """Return the body. Raises ApiError if it is not a JSON object, or too large."""
    return _parse_object(_read_bytes(request))


def _read_bytes(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise ApiError(413, "too_large", "The body is too large. Send less text.") from None


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        body = strict_json.loads(content)
    except strict_json.NotStrictJSON as error:
        raise ApiError(400, "invalid_request", f"The body is not JSON: {error}.") from None
    if not isinstance(body, dict):
        raise ApiError(400, "invalid_request", "The body must be a JSON object.")
    return body


def validate_body(body: dict[str, Any], serializer_class: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the values of a body. Raises ApiError that names each wrong field."""
    serializer = serializer_class(data=body)
    unknown = [name for name in body if name not in serializer.fields]
    if unknown:
        known = ", ".join(serializer.fields)
        raise ApiError(400, "invalid_request", f"There is no field {unknown[0][:40]!r}. The fields are: {known}.")
    if not serializer.is_valid():
        raise ApiError(400, "invalid_request", " ".join(_describe_errors(serializer.errors)))
    return dict(serializer.validated_data)


def _describe_errors(errors: Any, path: str = "") -> list[str]:
    if isinstance(errors, dict):
        return [
            sentence
            for name, value in errors.items()
            for sentence in _describe_errors(value, path if name == "non_field_errors" else f"{path}{name}: ")
        ]
    if isinstance(errors, list):
        return [sentence for each in errors for sentence in _describe_errors(each, path)]
    return [f"{path}{errors}"]
