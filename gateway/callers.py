"""Who a call is for and where it comes from: headers, vouched for by the client's key (DESIGN section 4)."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import http_sf

from gateway.errors import Denied, GatewayError, Invalid
from gateway.keys import VerifiedKey
from registry import switches
from registry.catalogs import Visibility

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VISIBLE = re.compile(r"[\x21-\x7e]{1,200}")

# Headers that would change what a call may do. They come with what they need; until then they are refused, never
# ignored, or a caller would believe that they hold.
_NOT_YET = ("HTTP_GATEWAY_AGENT", "HTTP_GATEWAY_TOOLSET")


@dataclass(frozen=True, slots=True)
class Context:
    """What the end user is looking at (Gateway-Context, an RFC 9651 dictionary)."""

    type: str = ""
    project_id: str = ""
    entity_type: str = ""
    entity_id: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """One request's identity. Nothing in a body can change it."""

    key: VerifiedKey
    subject: str = ""
    session: str = ""
    turn: str = ""
    context: Context = field(default_factory=Context)
    idempotency_key: str | None = None
    confirmation: str = ""

    @property
    def visibility(self) -> Visibility:
        """What this caller may see at this moment: what the key may, less what is switched off."""
        return self.key.visibility.without(switches.current())


def identify(key: VerifiedKey, meta: Mapping[str, Any]) -> Caller:
    """Return the caller that a key and a request's headers (WSGI names) tell.

    Raises Denied for a subject that the key may not speak for, Invalid for a malformed or unsupported header.
    """
    for name in _NOT_YET:
        if name in meta:
            header = name.removeprefix("HTTP_").replace("_", "-").title()
            raise Invalid(f"{header} is not supported here. Leave it out.", reason="unsupported_header")
    return Caller(
        key=key,
        subject=_subject(key, meta),
        session=_text(meta, "HTTP_GATEWAY_SESSION"),
        turn=_text(meta, "HTTP_GATEWAY_TURN"),
        context=_context(meta.get("HTTP_GATEWAY_CONTEXT")),
        idempotency_key=meta.get("HTTP_IDEMPOTENCY_KEY"),
        confirmation=str(meta.get("HTTP_GATEWAY_CONFIRM", "")).strip(),
    )


def trace_id(meta: Mapping[str, Any]) -> str:
    """Return `tr_` and the trace id of a W3C traceparent header, else a new one."""
    match = _TRACEPARENT.fullmatch(str(meta.get("HTTP_TRACEPARENT", "")))
    return "tr_" + (match[1] if match and match[1].strip("0") else f"{random.getrandbits(128):032x}")


def _subject(key: VerifiedKey, meta: Mapping[str, Any]) -> str:
    subject = _text(meta, "HTTP_GATEWAY_SUBJECT") or key.bound_subject
    if subject and not key.may_speak_for(subject):
        raise Denied("This API key may not speak for that subject.", reason="subject_not_allowed")
    return subject


def _text(meta: Mapping[str, Any], name: str) -> str:
    # Granian hands on a value beyond ASCII as an empty one: whom it named is not known, so that is not left out.
    value = str(meta[name]).strip() if name in meta else None
    if value is not None and not _VISIBLE.fullmatch(value):
        raise _bad_header(name, "Send 1 to 200 visible ASCII characters, or leave it out.")
    return value or ""


def _context(value: str | None) -> Context:
    if value is None:
        return Context()
    mend = 'Send a dictionary such as type=project, project_id="<uuid>" (RFC 9651).'
    if not value.strip():
        raise _bad_header("HTTP_GATEWAY_CONTEXT", mend)
    try:
        members: Any = http_sf.parse(value.encode("latin-1"), tltype="dictionary")
    except (ValueError, TypeError, AttributeError, IndexError):
        raise _bad_header("HTTP_GATEWAY_CONTEXT", mend) from None
    # RFC 9651: what is not known is ignored, so that a newer client can talk to us.
    known = {name: member[0] for name, member in members.items() if name in Context.__dataclass_fields__}
    if not all(isinstance(value, str | http_sf.Token) for value in known.values()):
        raise _bad_header("HTTP_GATEWAY_CONTEXT", mend)
    found = {name: str(value) for name, value in known.items()}
    for name in ("project_id", "entity_id"):
        if name in found and not is_uuid(found[name]):
            raise _bad_header("HTTP_GATEWAY_CONTEXT", f"{name} must be a UUID. {mend}")
    if any(len(text) > 100 for text in found.values()):
        raise _bad_header("HTTP_GATEWAY_CONTEXT", f"A value is longer than 100 characters. {mend}")
    return Context(**found)


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in its 36-character form."""
    return _UUID.fullmatch(text) is not None


def _bad_header(name: str, mend: str) -> GatewayError:
    header = name.removeprefix("HTTP_").replace("_", "-").title()
    return Invalid(f"{header} is malformed. {mend}", reason="bad_header")
