"""What an upstream answered, as the result of a call, and files, each of one subject."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min, Sum
from django.utils import timezone

from core.database.locks import lock_name
from core.text.lenient_json import MAX_VALUES, LenientReader, NotJSON, TooManyJSONValues
from gateway.contracts.errors import GatewayError, InvalidRequestError, NotFoundError, PermissionDeniedError
from gateway.credentials import end_user_settings
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.models import StoredFile
from registry.text import cleanup

DONE = {"message": "Done."}
MANY_VALUES = f"The answer has more than {MAX_VALUES:,} values and is shown as text."
_CONTENT_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}(\s*;\s*charset=[\w-]{1,30})?", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\:*?\"<>|\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_MAX_NAME_LENGTH = 200  # characters
MAX_FILES = 100  # of one subject of one client
MAX_TOTAL_BYTES = 200_000_000
FileContent = tuple[str, str, bytes]  # name, content type, content


def build_unread_response(error: GatewayError) -> UpstreamResponse:
    """Return the answer of a write that the upstream says it did, but whose answer was not received."""
    return UpstreamResponse(dict(DONE), warnings=(f"It was done, but its answer was lost: {error}",))


def wrap_value(value: Any) -> dict[str, Any]:
    """Return a JSON value as a result, which is an object."""
    if isinstance(value, dict):
        return value
    return {"items": value} if isinstance(value, list) else {"value": value}


def add_beside(result: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return a result with more members. A name that the result has is written with a capital letter."""
    return result | {name.capitalize() if name in result else name: value for name, value in values.items()}


def clean_value(value: Any, reader: LenientReader) -> Any:
    """Return a JSON value without invisible characters in its strings and member names.

    Members whose names are the same then are merged by the reader.
    """
    if isinstance(value, str):
        return cleanup.strip_hidden_characters(value)
    if isinstance(value, list):
        return [clean_value(item, reader) for item in value]
    if isinstance(value, dict):
        pairs = [(cleanup.strip_hidden_characters(name), clean_value(item, reader)) for name, item in value.items()]
        members = dict(pairs)
        return members if len(members) == len(pairs) else reader.merge_members(pairs)
    return value


def clean_parsed_value(value: Any, text: str, reader: LenientReader) -> Any:
    """Do the same with the value of a JSON text. One look at the text shows if there is nothing to clean."""
    is_clean = "\\" not in text and text.isascii() and text.isprintable()
    return value if is_clean else clean_value(value, reader)


def find_data(text: str, reader: LenientReader, *, is_json: bool = False, is_lines: bool = False) -> Any:
    """Return the data that a text is; None if it is none or too much.

    In a text that is not said to be JSON, only objects and lists are data: a number may be anything.
    """
    try:
        value = reader.parse(text)
        if is_lines and not isinstance(value, list):
            return [value]
        return value if is_json or isinstance(value, dict | list) else None
    except TooManyJSONValues:
        reader.add_remark(MANY_VALUES)
        return None
    except NotJSON:
        pass
    try:
        return reader.parse_sequence(text, is_sequence=is_lines)
    except TooManyJSONValues:
        reader.add_remark(MANY_VALUES)
    except NotJSON:
        pass
    return None


def load_file(work: UpstreamCall, file_id: str) -> FileContent:
    """Return the name, content type and content of a file. Raises NotFoundError unless it is the caller's own."""
    file = find_file(file_id, client_id=work.client_id, subject=work.subject, at=timezone.now())
    if file is None:
        raise NotFoundError(
            "There is no stored file with this id, or it has expired. Send the id of a file that was uploaded or "
            "that an op returned.",
            reason="file_not_found",
            help_path=work.op.op,
        )
    rules = end_user_settings.get_rules(work.op.connection)
    if refusal := rules.explain_file_refusal(file.content_type, file.size):
        raise InvalidRequestError(refusal, reason="file_refused")
    return file.name, file.content_type, bytes(file.content)


def describe_file(name: str, content_type: str, content: bytes) -> dict[str, Any]:
    """Return what to answer of a file that is not stored: {name, content_type, size}."""
    return {"name": clean_name(name), "content_type": content_type, "size": len(content)}


def store_file(work: UpstreamCall, name: str, content_type: str, content: bytes) -> dict[str, Any]:
    """Store a file for the caller and return what to answer: {id, name, content_type, size, url}.

    A test by an admin has no client, so nobody could fetch the file: it is only described. Raises PermissionDeniedError
    if the caller has reached its limit of files; a write has taken effect, so it says that instead.
    """
    described = describe_file(name, content_type, content)
    if not work.client_id:
        return described
    at = timezone.now()
    try:
        return create_file(work.client_id, work.subject, name=name, content_type=content_type, content=content, at=at)
    except PermissionDeniedError as error:
        error.help_path = work.op.op
        if not work.op.is_write:
            raise
        return described | {"message": f"The file was not stored. {error}"}


def create_file(
    client_id: int, subject: str, *, name: str, content_type: str, content: bytes, at: datetime
) -> dict[str, Any]:
    """Store a file of a client's subject and return its description: {id, name, content_type, size, url}.

    Raises PermissionDeniedError (429 file_quota) if the subject has reached its limit. Files that come at the same time
    are stored one after the other, so that together they do not exceed it.
    """
    with transaction.atomic():
        lock_name(f"files:{client_id}:{subject}")
        if error := _find_quota_error(client_id, subject, len(content), at):
            raise error
        file = StoredFile.objects.create(
            client_id=client_id,
            subject=subject,
            name=clean_name(name),
            content_type=content_type if _CONTENT_TYPE.fullmatch(content_type) else "application/octet-stream",
            content=content,
            size=len(content),
            created_at=at,
            expires_at=at + timedelta(hours=settings.GATEWAY_FILE_HOURS),
        )
    return {
        "id": str(file.id),
        "name": file.name,
        "content_type": file.content_type,
        "size": file.size,
        "url": f"{settings.GATEWAY_URL}/api/v1/files/{file.id}",
    }


def remove_files(file_ids: Iterable[str]) -> None:
    """Remove files of an answer that failed: nobody learns their ids, and they count for the quota."""
    if keys := list(file_ids):
        StoredFile.objects.filter(pk__in=keys).delete()


def _find_quota_error(client_id: int, subject: str, size: int, at: datetime) -> PermissionDeniedError | None:
    """Return the error for a file that a client's subject has no room for; None if there is room."""
    files = StoredFile.objects.filter(client_id=client_id, subject=subject, expires_at__gt=at)
    used = files.aggregate(count=Count("*"), size=Sum("size", default=0), first=Min("expires_at"))
    if used["count"] < MAX_FILES and used["size"] + size <= MAX_TOTAL_BYTES:
        return None
    expires = used["first"] or at + timedelta(hours=settings.GATEWAY_FILE_HOURS)
    seconds = ceil((expires - at).total_seconds())
    return PermissionDeniedError(
        f"At most {MAX_FILES} files and {MAX_TOTAL_BYTES // 1_000_000} MB are stored for one user. The first "
        f"expires at {expires:%Y-%m-%d %H:%M} UTC; call again then.",
        status=429,
        reason="file_quota",
        headers={"Retry-After": str(seconds)},
    )


def find_file(file_id: str | UUID, *, client_id: int, subject: str, at: datetime) -> StoredFile | None:
    """Return a file of a client and subject that has not expired, None if there is none."""
    try:
        key = UUID(str(file_id))
    except ValueError:
        return None
    return StoredFile.objects.filter(pk=key, client_id=client_id, subject=subject, expires_at__gt=at).first()


def clean_name(name: str) -> str:
    """Return a file name that every system can store: without folders, control and direction characters."""
    last_part = name.replace("\\", "/").rpartition("/")[2]
    return _UNSAFE.sub("", last_part).strip(" .")[:_MAX_NAME_LENGTH] or "file"
