"""Files that clients upload: checked for what they claim to be, and stored like the files that ops return."""

import mimetypes
import re
from typing import Any

import puremagic
from django.conf import settings
from django.utils import timezone

from gateway.contracts.errors import InvalidRequestError
from gateway.executors.remote import result_values

EXECUTABLE = "application/vnd.microsoft.portable-executable"
UNKNOWN_TYPE = "application/octet-stream"
HEAD_BYTES = 4_096  # that have the signature of a file

# How much of a signature says what a file is: a tenth for each of its bytes. Texts may begin with three of any.
MIN_CONFIDENCE = 0.3
MIN_TEXT_CONFIDENCE = 0.4

# Names of one type: those that browsers send, and those in the table of signatures.
SAME_TYPES: tuple[frozenset[str], ...] = (
    frozenset({"image/jpeg", "image/jpg", "image/pjpeg"}),
    frozenset({"image/heic", "image/heif"}),
    frozenset({"image/x-icon", "image/vnd.microsoft.icon"}),
    frozenset({"image/bmp", "image/x-ms-bmp"}),
    frozenset({"application/gzip", "application/x-gzip"}),
    frozenset({"audio/mpeg", "audio/mp3"}),
    frozenset({"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"}),
    frozenset({"audio/mp4", "audio/x-m4a", "video/mp4", "video/x-m4v", "video/quicktime"}),  # one container
    frozenset({"video/x-msvideo", "video/avi"}),
    frozenset({"video/webm", "audio/webm", "video/x-matroska", "application/x-matroska"}),
    frozenset({EXECUTABLE, "application/x-msdownload", "application/x-msdos-program", "application/x-dosexec"}),
)

# Formats that are kept in a container. The table of signatures knows many of them, but not all.
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
CONTAINERS: dict[bytes, tuple[str, ...]] = {
    ZIP: (
        "application/zip",
        "application/x-zip-compressed",
        "application/epub+zip",
        "application/java-archive",
        "application/vnd.openxmlformats-officedocument.",
        "application/vnd.oasis.opendocument.",
        "application/vnd.ms-",
    ),
    OLE: ("application/msword", "application/vnd.ms-", "application/x-msi"),
}
TEXT_TYPES = frozenset(
    """
    application/json application/xml application/yaml application/x-yaml application/toml application/sql
    application/javascript application/x-ndjson application/jsonl application/rtf application/x-sh image/svg+xml
    message/rfc822
""".split()
)

# Sent by Windows for a table in CSV: the type of the program that opens it.
CSV_TYPES = frozenset({"application/vnd.ms-excel", "application/csv", "text/x-csv", "text/comma-separated-values"})

# Types whose files always have a known signature.
SIGNED_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/tiff", "application/pdf"})
BINARY_KINDS = ("image/", "audio/", "video/", "application/pdf", EXECUTABLE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_JSON = re.compile(rb'[{\["\-0-9]|true|false|null')
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_KNOWN_TYPES = frozenset(each.mime_type for each in puremagic.magic_header_array if each.mime_type)


def store_upload(client_id: int, subject: str, *, name: str, content_type: str, content: bytes) -> dict[str, Any]:
    """Store a file of a client's subject and return what to answer: {id, name, content_type, size, url}.

    Raises InvalidRequestError for an empty (400) or too large (413) file, or for a content that is not what the type
    says (415), and PermissionDeniedError (429) over the quota.
    """
    if not content:
        raise InvalidRequestError("The file is empty. Send its content.", reason="empty_file")
    if len(content) > settings.GATEWAY_FILE_MAX_BYTES:
        raise build_file_too_large_error()
    cleaned = result_values.clean_name(name)
    checked_type = check_type(cleaned, content_type, content)
    return result_values.create_file(
        client_id, subject, name=cleaned, content_type=checked_type, content=content, at=timezone.now()
    )


def build_file_too_large_error() -> InvalidRequestError:
    """Return the error for a file over the limit of all files."""
    limit = f"{settings.GATEWAY_FILE_MAX_BYTES:,}"
    return InvalidRequestError(
        f"The file is larger than {limit} bytes. Send a smaller one.", status=413, reason="too_large"
    )


def check_type(name: str, content_type: str, content: bytes) -> str:
    """Return the type to store a file with. Raises InvalidRequestError (415) if the content is of another type.

    Without a type, the name says what the file claims to be. A type that has no signature is believed unless the
    content has the signature of an image, a recording, a PDF or a program.
    """
    claimed = _choose_claimed_type(name, content_type)
    matches = _match_signatures(content)
    if not claimed:
        return _choose_found_type(matches, content)
    base = claimed.partition(";")[0].strip()
    explain = _explain_text if _is_text_type(base) else _explain_bytes
    if problem := explain(base, matches, content):
        raise InvalidRequestError(
            f"The file is not what its type {base} says: {problem} Send the type that it has.",
            status=415,
            reason="file_type_mismatch",
        )
    return claimed


def is_text(content: bytes) -> bool:
    """Return whether a content is text in any encoding that people use for files."""
    return content.startswith(_UTF_16) or _CONTROL.search(content) is None


def _choose_claimed_type(name: str, content_type: str) -> str:
    """Return the type that a file claims to have, in lower case; empty if it claims nothing."""
    claimed = content_type.strip().lower()
    guessed = mimetypes.guess_type(name)[0] or ""
    if claimed in ("", UNKNOWN_TYPE):
        return guessed
    return "text/csv" if claimed in CSV_TYPES and name.lower().endswith(".csv") else claimed


def _choose_found_type(matches: dict[str, float], content: bytes) -> str:
    if content.startswith(ZIP):  # one of many formats
        return "application/zip"
    likeliest = next((name for name, confidence in matches.items() if confidence >= MIN_CONFIDENCE), "")
    return likeliest or ("text/plain" if is_text(content) else UNKNOWN_TYPE)


def _match_signatures(content: bytes) -> dict[str, float]:
    """Return the types whose signatures the content has, with the confidence in each, the likeliest first."""
    try:
        found = puremagic.magic_string(content[:HEAD_BYTES])
    except puremagic.PureError:
        return {}
    matches: dict[str, float] = {}
    for each in found:
        if each.mime_type:
            matches.setdefault(each.mime_type.lower(), each.confidence)
    return matches


def _explain_text(claimed: str, matches: dict[str, float], content: bytes) -> str:
    """Return what contradicts a type of text, as a sentence; empty if nothing does."""
    for name, confidence in matches.items():
        if confidence >= MIN_TEXT_CONFIDENCE and name.startswith(BINARY_KINDS) and not _is_text_type(name):
            return f"it is {name}."
    return _explain_syntax(claimed, content) if is_text(content) else "it is not text."


def _explain_bytes(claimed: str, matches: dict[str, float], content: bytes) -> str:
    """Return what contradicts a type of bytes, as a sentence; empty if nothing does."""
    names = next((each for each in SAME_TYPES if claimed in each), frozenset({claimed}))
    starts = next((types for start, types in CONTAINERS.items() if content.startswith(start)), ())
    if names & matches.keys() or claimed.startswith(starts):
        return ""
    likeliest = next((name for name, confidence in matches.items() if confidence >= MIN_CONFIDENCE), "")
    if likeliest and (claimed in _KNOWN_TYPES or likeliest.startswith(BINARY_KINDS)):
        return f"it is {likeliest}."
    needs_container = any(claimed.startswith(types) for types in CONTAINERS.values())
    return "it does not begin as one." if needs_container or names & SIGNED_TYPES else ""


def _explain_syntax(claimed: str, content: bytes) -> str:
    """Return what contradicts a type of text at its first character."""
    if content.startswith(_UTF_16):
        return ""
    head = content[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if claimed == "application/json" or claimed.endswith("+json"):
        return "" if _JSON.match(head) else "it does not begin as JSON."
    if claimed in ("application/xml", "text/xml") or claimed.endswith("+xml"):
        return "" if head.startswith(b"<") else "it does not begin as XML."
    return ""


def _is_text_type(content_type: str) -> bool:
    return content_type.startswith("text/") or content_type in TEXT_TYPES or content_type.endswith(("+json", "+xml"))
