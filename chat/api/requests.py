"""The bodies of requests."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from rest_framework import serializers

from chat.conversations.ratings import MAX_REASON
from chat.conversations.store import ContextField
from chat.errors import ApiError
from chat.models import Message
from core.text import json_text

MAX_MESSAGE = 20_000
MAX_FILES = 10  # of one message
MAX_DECISIONS = 40  # as many as a turn has calls


class TextField(serializers.CharField):
    """A text. Django REST framework's field also accepts numbers."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class DecisionField(serializers.Serializer[Any]):
    """What the user answered to a call that needs their agreement, or whose service asks them with a form."""

    call_id = serializers.UUIDField()
    approve = serializers.BooleanField()
    content = serializers.DictField(required=False, allow_null=True)


class DecisionsField(serializers.ListField):
    """Decisions about several calls."""

    child = DecisionField()

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_empty=False, max_length=MAX_DECISIONS, **options)

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        """Check that they do not contradict each other."""
        decisions: list[dict[str, Any]] = super().to_internal_value(data)
        if len({each["call_id"] for each in decisions}) < len(decisions):
            raise serializers.ValidationError("Decide about each call once.")
        return decisions


class AttachedFileField(serializers.Serializer[Any]):
    """A file that was uploaded, as the upload answered it. What else the answer has is left out."""

    id = serializers.UUIDField()
    name = serializers.RegexField(r"\A[^\x00-\x1f\x7f]{1,200}\Z")
    content_type = serializers.RegexField(r"\A[\x21-\x7e ]{1,200}\Z")
    size = serializers.IntegerField(min_value=0)


class StreamRequest(serializers.Serializer[Any]):
    """A message, another answer to an earlier one, or decisions about calls of the conversation."""

    message = TextField(max_length=MAX_MESSAGE, required=False)
    session_id = serializers.UUIDField(required=False, allow_null=True)
    context = ContextField(required=False, allow_null=True)  # type: ignore[assignment]
    decision = DecisionField(required=False, allow_null=True)
    decisions = DecisionsField(required=False)
    replaces = serializers.UUIDField(required=False, allow_null=True)
    repeat_writes = serializers.BooleanField(required=False)
    files = serializers.ListField(child=AttachedFileField(), max_length=MAX_FILES, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that there is something to answer."""
        decision, decisions = attrs.pop("decision", None), attrs.get("decisions", [])
        if bool(attrs.get("message") or attrs.get("replaces")) + bool(decision) + bool(decisions) != 1:
            raise serializers.ValidationError("Send either message or decision.")
        for name, value in (("decision", decision), *attrs.items()):
            if name in ("decision", "decisions", "replaces") and value and not attrs.get("session_id"):
                raise serializers.ValidationError(f"{name} needs session_id, its conversation.")
        if attrs.get("files") and not attrs.get("message"):
            raise serializers.ValidationError("files needs message, which says what to do with them.")
        return attrs | {"decisions": [decision] if decision else decisions}


class ProtocolRequest(serializers.Serializer[Any]):
    """What is read of a request in another protocol: a message, or decisions about calls of the conversation."""

    message = TextField(max_length=MAX_MESSAGE, required=False)
    context = ContextField(required=False)  # type: ignore[assignment]
    decisions = DecisionsField(required=False)


class VersionRequest(serializers.Serializer[Any]):
    """Which version of a message to show."""

    message_id = serializers.UUIDField()


class CancelRequest(serializers.Serializer[Any]):
    """Which turn to cancel: the turn of the message, or the running one."""

    message_id = serializers.UUIDField(required=False)


class FeedbackRequest(serializers.Serializer[Any]):
    """What the user thinks of an answer."""

    thumb = serializers.ChoiceField(choices=Message.Thumb.choices)
    reason = TextField(max_length=MAX_REASON, required=False, allow_blank=True, default="")


class RenameRequest(serializers.Serializer[Any]):
    """A title by the user."""

    title = TextField(max_length=60)


def read_body(request: HttpRequest, serializer_class: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the validated body; no body is an empty object. Raises ApiError that names each wrong field."""
    content = _read_bytes(request, advice="Send less text.") or b"{}"
    try:
        body = json_text.parse(content)
    except json_text.NotStrictJSON as error:
        raise ApiError(400, "invalid_request", str(error)) from None
    return validate_body(_check_object(body), serializer_class)


def read_thread(request: HttpRequest) -> dict[str, Any]:
    """Return the body of another protocol: a whole thread with all answers, limited by its size alone.

    Validate the fields that are read. Raises ApiError if it is not a JSON object, or too large.
    """
    content = _read_bytes(request, advice="Send only the last message.")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        text = f"The body is not valid JSON: {error.msg} at character {error.pos}. Send one JSON object."
        raise ApiError(400, "invalid_request", text) from None
    return _check_object(body)


def _read_bytes(request: HttpRequest, *, advice: str) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise ApiError(413, "too_large", f"The body is too large. {advice}") from None


def _check_object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ApiError(400, "invalid_request", "The body must be a JSON object.")
    return body


def validate_body(
    body: Mapping[str, Any],
    serializer_class: type[serializers.Serializer[Any]],
    *,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values of a body. Raises ApiError that names each wrong field, as `names` has it for the client."""
    serializer = serializer_class(data=body)
    unknown = [name for name in body if name not in serializer.fields]
    if unknown:
        known = ", ".join(serializer.fields)
        raise ApiError(400, "invalid_request", f"Unknown field {unknown[0][:40]!r}. The fields are: {known}.")
    if not serializer.is_valid():
        raise ApiError(400, "invalid_request", " ".join(_describe_errors(serializer.errors, names or {})))
    return dict(serializer.validated_data)


def _describe_errors(errors: Any, names: Mapping[str, str], path: str = "") -> list[str]:
    if isinstance(errors, dict):
        return [
            sentence
            for name, value in errors.items()
            for sentence in _describe_errors(value, names, _extend_path(path, name, names))
        ]
    if isinstance(errors, list):
        return [sentence for each in errors for sentence in _describe_errors(each, names, path)]
    return [f"{path}{errors}"]


def _extend_path(path: str, name: str | int, names: Mapping[str, str]) -> str:
    """Return the path of a field. Places in lists are left out: protocols have these lists elsewhere."""
    if not isinstance(name, str) or name == "non_field_errors":
        return path
    return f"{path}{names.get(name, name)}: "
