"""OpenFeature Remote Evaluation Protocol (OFREP): evaluate one flag or all flags for any OpenFeature client.

See https://openfeature.dev/specification/appendix-c. The protocol has its own OpenAPI document, so ours leaves these
endpoints out.
"""

import hashlib
from typing import Any

import orjson
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from analytics.rollout import exposures
from analytics.rollout.evaluation import Outcome
from analytics.rollout.facts import Facts
from analytics.rollout.flags import FlagKey
from gateway import bodies, flags
from gateway.errors import GatewayError, Invalid
from gateway.models import Scope
from gateway.views import GatewayView, caller_of, matches, meaning

JSON = "application/json"
LONGEST = 200  # characters of any text in an evaluation context
# Context members that are not traits, and our name of each. The client is known from its key.
KNOWN = {"targetingKey": "subject", "environment": "environment", "context": "context", "model": "model"}
KNOWN |= {"project_id": "project"}


class BadContext(Exception):
    """The evaluation context is invalid. Has the protocol's error code and a message that says what to send."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class FlagsView(GatewayView):
    """Base of both endpoints: the scope, and errors in the protocol's format."""

    http_method_names = ["post"]
    scope = Scope.FLAGS

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # we render it ourselves
        key = self.kwargs.get("key")
        said: dict[str, Any] = {"key": key} if key else {}
        if isinstance(exc, BadContext):
            return _answer(said | {"errorCode": exc.code, "errorDetails": str(exc)}, 400)
        error: GatewayError = meaning(exc, self)
        code = "PARSE_ERROR" if isinstance(error, Invalid) else "GENERAL"
        return _answer(said | {"errorCode": code, "errorDetails": str(error)}, error.status, error.headers)

    def facts(self, request: Request) -> Facts:
        """Return the evaluation context of the body. Raises Invalid, BadContext."""
        return facts_of(bodies.read(request._request), client=caller_of(self).key.client)


class FlagView(FlagsView):
    """Evaluates one flag and records an exposure, because a client asks for one flag when it uses it."""

    @extend_schema(exclude=True)
    def post(self, request: Request, key: str) -> HttpResponse:
        facts = self.facts(request)
        if key not in set(FlagKey):
            known = ", ".join(FlagKey)
            said = {"key": key, "errorCode": "FLAG_NOT_FOUND", "errorDetails": f"Unknown flag. Send one of {known}."}
            return _answer(said, 404)
        outcome = flags.decide(FlagKey(key), facts)
        exposures.record([outcome], subject=facts.subject, at=timezone.now())
        return _answer(told(outcome), 200)


class AllFlagsView(FlagsView):
    """Evaluates all flags for clients that cache them. Records no exposure: which flags are used is not known."""

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponse:
        facts = self.facts(request)
        body = orjson.dumps({"flags": [told(flags.decide(flag, facts)) for flag in FlagKey]})
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if matches(request._request.META.get("HTTP_IF_NONE_MATCH", ""), etag):
            return HttpResponse(status=304, headers={"ETag": etag})
        return HttpResponse(body, content_type=JSON, headers={"ETag": etag})


def facts_of(body: dict[str, Any], *, client: str) -> Facts:
    """Return the evaluation context of a body; unknown members become traits. Raises BadContext."""
    context = body.get("context")
    if not isinstance(context, dict):
        raise BadContext("INVALID_CONTEXT", 'Send {"context": {"targetingKey": "<subject>"}}.')
    if not context.get("targetingKey"):
        raise BadContext("TARGETING_KEY_MISSING", "Send context.targetingKey: the subject to evaluate for.")
    texts = {name: context[name] for name in KNOWN if name in context}
    if not all(isinstance(value, str) and len(value) <= LONGEST for value in texts.values()):
        raise BadContext("INVALID_CONTEXT", f"{', '.join(KNOWN)} must be strings of at most {LONGEST} characters.")
    traits = {name: value for name, value in context.items() if name not in KNOWN and _is_trait(value)}
    return Facts(client=client, traits=traits, **{KNOWN[name]: value for name, value in texts.items()})


def told(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in the protocol's format of a successful evaluation."""
    said: dict[str, Any] = {"key": outcome.flag, "value": outcome.variant, "variant": outcome.variant}
    metadata = {"cohort": outcome.cohort} if outcome.cohort else {}
    return said | {"reason": outcome.reason, "metadata": metadata}


def _is_trait(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= LONGEST)


def _answer(said: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(orjson.dumps(said), status=status, content_type=JSON, headers=headers)
