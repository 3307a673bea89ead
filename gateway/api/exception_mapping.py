"""The API error for each exception that a view may raise."""

import logging
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from rest_framework.exceptions import MethodNotAllowed, Throttled

from core import logs
from core.database.watch import is_schema_missing, is_unavailable
from gateway.contracts.errors import (
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    build_too_large_error,
)
from gateway.execution import db_errors
from registry.catalog import cache

log = logging.getLogger(__name__)


def to_api_error(exc: Exception, *, allowed_methods: Sequence[str], trace_id: str) -> GatewayError:
    """Return the API error for an exception of any layer. A bug is logged and becomes INTERNAL without details."""
    if isinstance(exc, GatewayError):
        return exc
    if isinstance(exc, MethodNotAllowed):
        return NotFoundError(
            f"This endpoint does not support this method. Use {' or '.join(allowed_methods)}.",
            status=405,
            reason="method_not_allowed",
            headers={"Allow": ", ".join(allowed_methods)},
        )
    if isinstance(exc, Throttled):
        wait = max(1, round(getattr(exc, "wait", None) or 1))
        return PermissionDeniedError(
            f"This API key has reached its rate limit. Wait {wait} s.",
            status=429,
            reason="rate_limited",
            retryable=True,
            headers={"Retry-After": str(wait)},
        )
    if isinstance(exc, RequestDataTooBig):
        return build_too_large_error(settings.GATEWAY_BODY_MAX_BYTES)
    if isinstance(exc, TooManyFieldsSent):
        limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return InvalidRequestError(
            f"The query has more than {limit} parameters. Send only those of help.", reason="malformed_call"
        )
    if isinstance(exc, cache.NoLiveRelease):
        return InternalError(str(exc), status=503, reason="nothing_live", retryable=True, headers={"Retry-After": "1"})
    if is_unavailable(exc) or is_schema_missing(exc):
        return db_errors.to_api_error(exc, keyed=False)
    log.error("request.crashed trace=%s\n%s", trace_id, logs.format_safely(exc))
    return InternalError("The gateway failed to run this call. Tell the administrator its trace id.")
