"""The user and the place of a call, read from the request headers.

The headers are trusted because the client's API key authenticates the request.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import http_sf

from analytics.events.models import OperationEvent
from analytics.rollout import assignment
from analytics.rollout.assignment import Routing
from analytics.rollout.evaluation import EvaluationContext, Trait
from core.records import record
from core.server.environ import REPEATED_HEADERS
from core.text import english
from gateway.access import release_routing
from gateway.access.key_verification import VerifiedKey
from gateway.contracts.errors import GatewayError, InvalidRequestError, NotFoundError, PermissionDeniedError
from registry.catalog import connections, switches
from registry.catalog.model import Catalog, CatalogAgent, Visibility

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VISIBLE = re.compile(r"[\x21-\x7e]{1,200}")

MAX_TRAITS = 50
MAX_TRAIT_LENGTH = 100  # characters

_AGENT = "HTTP_GATEWAY_AGENT"
# Headers of ours and of MCP, which a request must not repeat. Two values could mean two things, and the gateway does
# not guess.
_OUR_HEADERS = ("HTTP_GATEWAY_", "HTTP_AUTHORIZATION", "HTTP_IDEMPOTENCY_KEY", "HTTP_MCP_")


@record
class UserContext:
    """What the end user is looking at (the Gateway-Context header, an RFC 9651 dictionary)."""

    type: str = ""
    project_id: str = ""
    entity_type: str = ""
    entity_id: str = ""


@record
class Caller:
    """The identity of one request. Nothing in the body can change it."""

    key: VerifiedKey
    subject: str = ""
    session: str = ""
    turn: str = ""
    context: UserContext = field(default_factory=UserContext)
    idempotency_key: str | None = None
    confirmation: str = ""
    environment: str = ""
    model: str = ""
    purpose: str = ""  # a value of OperationEvent.Purpose; empty for what a model does
    traits: Mapping[str, Trait] = field(default_factory=dict)
    routing: Routing = assignment.DEFAULT_ROUTING
    has_toolset: bool = False  # its model has the tools of a toolset, whose routing it is
    agent: CatalogAgent | None = None  # the agent as which the calls run, which limits their ops

    @property
    def evaluation_context(self) -> EvaluationContext:
        """The attributes by which flags are evaluated."""
        return EvaluationContext(
            subject=self.subject,
            client=self.key.client,
            environment=self.environment,
            context=self.context.type,
            project=self.context.project_id,
            model=self.model,
            traits=self.traits,
        )

    @property
    def visibility(self) -> Visibility:
        """The ops that this caller can see now: allowed by key and agent, minus those that are off or cannot run."""
        allowed = self.key.visibility if self.agent is None else replace(self.key.visibility, agent=self.agent)
        return allowed.limit_to_available(switches.get_switches(), connections.get_connections())


def check_no_header_repeats(meta: Mapping[str, Any]) -> None:
    """Raise InvalidRequestError if a header that names the caller or the end user is repeated."""
    for name in meta.get(REPEATED_HEADERS, ()):
        if name.startswith(_OUR_HEADERS):
            raise InvalidRequestError(
                f"Duplicate header {_format_header(name)}. Send it once.", reason="repeated_header"
            )


def identify_caller(key: VerifiedKey, meta: Mapping[str, Any]) -> Caller:
    """Return the caller for a key and a request's headers (WSGI names).

    Raises PermissionDeniedError for a subject that the key cannot speak for, InvalidRequestError for a malformed or
    repeated header.
    """
    return Caller(
        key=key,
        subject=_read_subject(key, meta),
        session=_read_text(meta, "HTTP_GATEWAY_SESSION"),
        turn=_read_text(meta, "HTTP_GATEWAY_TURN"),
        context=_parse_context(meta.get("HTTP_GATEWAY_CONTEXT")),
        idempotency_key=meta.get("HTTP_IDEMPOTENCY_KEY"),
        confirmation=str(meta.get("HTTP_GATEWAY_CONFIRM", "")).strip(),
        environment=_read_text(meta, "HTTP_GATEWAY_ENVIRONMENT"),
        model=_read_text(meta, "HTTP_GATEWAY_MODEL"),
        purpose=_read_purpose(meta),
        traits=_parse_traits(meta.get("HTTP_GATEWAY_TRAITS")),
    )


def is_subject(text: str) -> bool:
    """Return whether a text can name a subject: 1 to 200 visible ASCII characters, as in a header."""
    return _VISIBLE.fullmatch(text) is not None


def check_subject(key: VerifiedKey, subject: str) -> None:
    """Raise PermissionDeniedError if a key cannot act for a subject, wherever the request names it."""
    if not key.may_act_for(subject):
        raise PermissionDeniedError("This API key cannot act for this subject.", reason="subject_not_allowed")


def apply_routing(caller: Caller, meta: Mapping[str, Any], at: datetime) -> Caller:
    """Return the caller with its surface and release: from Gateway-Toolset if it was sent, else from the flags.

    Raises InvalidRequestError for an expired or malformed toolset, PermissionDeniedError for a toolset of another
    client or subject.
    """
    if (token := meta.get("HTTP_GATEWAY_TOOLSET")) is not None:
        routing = release_routing.verify_toolset(str(token).strip(), key=caller.key, subject=caller.subject).served
        return replace(caller, routing=routing, has_toolset=True)
    routing = assignment.route_by_flags(
        caller.subject, lambda: caller.evaluation_context, source=caller.key.prefix, at=at
    )
    return caller if routing is caller.routing else replace(caller, routing=routing)


def refuse_agent(meta: Mapping[str, Any]) -> None:
    """Raise InvalidRequestError if a request to an endpoint that runs no ops names an agent.

    It is refused, not ignored: otherwise a caller would believe that it has an effect.
    """
    if _AGENT in meta:
        raise InvalidRequestError(
            f"{_format_header(_AGENT)} is not supported here. Leave it out.", reason="unsupported_header"
        )


def apply_agent(caller: Caller, meta: Mapping[str, Any], get_catalog: Callable[[Routing], Catalog]) -> Caller:
    """Return the caller as the agent of Gateway-Agent, if it was sent. Raises NotFoundError for an unknown agent."""
    if not (name := _read_text(meta, _AGENT)):
        return caller
    return replace(caller, agent=find_agent(get_catalog(caller.routing), name))


def find_agent(catalog: Catalog, name: str) -> CatalogAgent:
    """Return an agent of the release that serves a call. Raises NotFoundError, which does not repeat the name."""
    agent = catalog.agents.get(name)
    if agent is None:
        close_names = english.find_similar(name, catalog.agents) or sorted(catalog.agents)[:5]
        hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
        raise NotFoundError(
            f"Unknown agent in {_format_header(_AGENT)}.{hint}",
            reason="unknown_agent",
            details={"did_you_mean": close_names} if close_names else None,
        )
    return agent


def read_trace_id(meta: Mapping[str, Any]) -> str:
    """Return `tr_` plus the trace id of the W3C traceparent header, or plus a new id if there is none."""
    match = _TRACEPARENT.fullmatch(str(meta.get("HTTP_TRACEPARENT", "")))
    return "tr_" + (match[1] if match and match[1].strip("0") else f"{random.getrandbits(128):032x}")


def _read_subject(key: VerifiedKey, meta: Mapping[str, Any]) -> str:
    subject = _read_text(meta, "HTTP_GATEWAY_SUBJECT") or key.bound_subject
    if subject:
        check_subject(key, subject)
    return subject


def _read_text(meta: Mapping[str, Any], name: str) -> str:
    if name not in meta:
        return ""
    # Granian passes a value beyond ASCII on as an empty one. The user that it named is not known, so it is refused.
    value = str(meta[name]).strip()
    if not _VISIBLE.fullmatch(value):
        raise _build_bad_header_error(name, "Send 1 to 200 visible ASCII characters, or leave it out.")
    return value


def _read_purpose(meta: Mapping[str, Any]) -> str:
    purpose = _read_text(meta, "HTTP_GATEWAY_PURPOSE")
    if purpose and purpose not in OperationEvent.Purpose.values:
        hint = f"Send {' or '.join(OperationEvent.Purpose.values)}, or leave it out for a model's call."
        raise _build_bad_header_error("HTTP_GATEWAY_PURPOSE", hint)
    return purpose


def _parse_context(value: str | None) -> UserContext:
    if value is None:
        return UserContext()
    hint = 'Send a dictionary such as type=project, project_id="<uuid>" (RFC 9651).'
    members = _parse_dictionary("HTTP_GATEWAY_CONTEXT", value, hint)
    # Unknown members are ignored, so that newer clients can send more (RFC 9651).
    known = {name: member for name, member in members.items() if name in UserContext.__dataclass_fields__}
    if not all(isinstance(value, str | http_sf.Token) for value in known.values()):
        raise _build_bad_header_error("HTTP_GATEWAY_CONTEXT", hint)
    values = {name: str(value) for name, value in known.items()}
    for name in ("project_id", "entity_id"):
        if name in values and not is_uuid(values[name]):
            raise _build_bad_header_error("HTTP_GATEWAY_CONTEXT", f"{name} must be a UUID. {hint}")
    if any(len(text) > 100 for text in values.values()):
        raise _build_bad_header_error("HTTP_GATEWAY_CONTEXT", f"A value is longer than 100 characters. {hint}")
    return UserContext(**values)


def _parse_traits(value: str | None) -> dict[str, Trait]:
    if value is None:
        return {}
    hint = "Send a dictionary of strings, numbers and booleans such as plan=pro, seats=5, beta (RFC 9651)."
    members = _parse_dictionary("HTTP_GATEWAY_TRAITS", value, hint)
    if len(members) > MAX_TRAITS:
        raise _build_bad_header_error("HTTP_GATEWAY_TRAITS", f"It has more than {MAX_TRAITS} members. {hint}")
    traits: dict[str, Trait] = {}
    for name, member in members.items():
        if isinstance(member, bool | int):
            traits[name] = member
        elif isinstance(member, float | Decimal):
            traits[name] = float(member)
        elif isinstance(member, str | http_sf.Token) and len(str(member)) <= MAX_TRAIT_LENGTH:
            traits[name] = str(member)
        else:
            raise _build_bad_header_error("HTTP_GATEWAY_TRAITS", f"A value has another type or is too long. {hint}")
    return traits


def _parse_dictionary(name: str, value: str, hint: str) -> dict[str, Any]:
    """Parse a structured field dictionary (RFC 9651) and drop the parameters of its members."""
    if not value.strip():
        raise _build_bad_header_error(name, hint)
    try:
        members: Any = http_sf.parse(value.encode("latin-1"), tltype="dictionary")
    except (ValueError, TypeError, AttributeError, IndexError):
        raise _build_bad_header_error(name, hint) from None
    return {key: member[0] for key, member in members.items()}


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in the 36-character form."""
    return _UUID.fullmatch(text) is not None


def _build_bad_header_error(name: str, hint: str) -> GatewayError:
    return InvalidRequestError(f"{_format_header(name)} is malformed. {hint}", reason="bad_header")


def _format_header(name: str) -> str:
    return name.removeprefix("HTTP_").replace("_", "-").title()
