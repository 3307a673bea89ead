"""OpenFeature Remote Evaluation Protocol (OFREP): evaluate one flag or all flags for any OpenFeature client.

See https://openfeature.dev/specification/appendix-c. The protocol has its own OpenAPI document, so ours leaves these
endpoints out.
"""

import hashlib
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema

from analytics.flags import FlagKey
from analytics.rollout import assignment, exposures
from analytics.rollout.evaluation import EvaluationContext, EvaluationDetails
from gateway.access import request_context
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.contracts.errors import InvalidRequestError
from gateway.models import Scope

MAX_LENGTH = 200  # characters of any text in an evaluation context
# Context members that are not traits, and our name of each. The client is known from its key.
CONTEXT_FIELDS = {"targetingKey": "subject", "environment": "environment", "context": "context", "model": "model"}
CONTEXT_FIELDS |= {"project_id": "project"}


class InvalidEvaluationContext(Exception):
    """The evaluation context is invalid. Has the protocol's error code and a message that says what to send."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class OfrepView(GatewayView):
    """Base of both endpoints: the scope, and errors in the protocol's format."""

    http_method_names = ["post"]
    scope = Scope.FLAGS

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # we render it ourselves
        key = self.kwargs.get("key")
        error_body: dict[str, Any] = {"key": key} if key else {}
        if isinstance(exc, InvalidEvaluationContext):
            return _render_json(error_body | {"errorCode": exc.code, "errorDetails": str(exc)}, 400)
        error = self.to_api_error(exc)
        code = "PARSE_ERROR" if isinstance(error, InvalidRequestError) else "GENERAL"
        return _render_json(error_body | {"errorCode": code, "errorDetails": str(error)}, error.status, error.headers)

    def parse_context(self, request: HttpRequest) -> EvaluationContext:
        """Return the evaluation context of the body, for a subject that the key may act for.

        Raises InvalidRequestError, InvalidEvaluationContext, PermissionDeniedError.
        """
        key = self.require_caller().key
        context = parse_evaluation_context(requests.read_json_object(request), client=key.client)
        request_context.check_subject(key, context.subject)
        return context


class EvaluateFlagView(OfrepView):
    """Evaluates one flag and records an exposure, because a client asks for one flag when it uses it."""

    @extend_schema(exclude=True)
    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        facts = self.parse_context(request)
        if key not in set(FlagKey):
            known_keys = ", ".join(FlagKey)
            error_body = {
                "key": key,
                "errorCode": "FLAG_NOT_FOUND",
                "errorDetails": f"Unknown flag. Send one of {known_keys}.",
            }
            return _render_json(error_body, 404)
        outcome = assignment.evaluate_flag(FlagKey(key), facts)
        exposures.record_exposures(
            [outcome], subject=facts.subject, source=self.require_caller().key.prefix, at=timezone.now()
        )
        return _render_json(format_evaluation(outcome), 200)


class EvaluateAllFlagsView(OfrepView):
    """Evaluates all flags for clients that cache them. Records no exposure: which flags are used is not known."""

    @extend_schema(exclude=True)
    def post(self, request: HttpRequest) -> HttpResponse:
        facts = self.parse_context(request)
        body = orjson.dumps({"flags": [format_evaluation(assignment.evaluate_flag(flag, facts)) for flag in FlagKey]})
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if requests.matches_etag(request.META.get("HTTP_IF_NONE_MATCH", ""), etag):
            return HttpResponse(status=304, headers={"ETag": etag})
        return HttpResponse(body, content_type=JSON_CONTENT_TYPE, headers={"ETag": etag})


def parse_evaluation_context(body: dict[str, Any], *, client: str) -> EvaluationContext:
    """Return the evaluation context of a body; unknown members become traits. Raises InvalidEvaluationContext."""
    context = body.get("context")
    if not isinstance(context, dict):
        raise InvalidEvaluationContext("INVALID_CONTEXT", 'Send {"context": {"targetingKey": "<subject>"}}.')
    if not context.get("targetingKey"):
        raise InvalidEvaluationContext(
            "TARGETING_KEY_MISSING", "Send context.targetingKey: the subject to evaluate for."
        )
    texts = {name: context[name] for name in CONTEXT_FIELDS if name in context}
    if not all(isinstance(value, str) and len(value) <= MAX_LENGTH for value in texts.values()):
        raise InvalidEvaluationContext(
            "INVALID_CONTEXT", f"{', '.join(CONTEXT_FIELDS)} must be strings of at most {MAX_LENGTH} characters."
        )
    if not request_context.is_subject(texts["targetingKey"]):
        raise InvalidEvaluationContext(
            "INVALID_CONTEXT",
            "targetingKey is a subject, as in Gateway-Subject: 1 to 200 visible ASCII characters.",
        )
    traits = {name: value for name, value in context.items() if name not in CONTEXT_FIELDS and _is_trait(value)}
    return EvaluationContext(
        client=client, traits=traits, **{CONTEXT_FIELDS[name]: value for name, value in texts.items()}
    )


def format_evaluation(outcome: EvaluationDetails) -> dict[str, Any]:
    """Return an outcome in the protocol's format of a successful evaluation."""
    evaluation: dict[str, Any] = {"key": outcome.flag, "value": outcome.variant, "variant": outcome.variant}
    metadata = {"cohort": outcome.cohort} if outcome.cohort else {}
    return evaluation | {"reason": outcome.reason, "metadata": metadata}


def _is_trait(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_LENGTH)


def _render_json(body: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(orjson.dumps(body), status=status, content_type=JSON_CONTENT_TYPE, headers=headers)
