"""Uploads of files: passed on to the gateway, which checks and stores them for the user."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chat.access import Identity
from chat.api.base import api_view, run_with_identity
from chat.errors import ApiError
from chat.gateway import envelopes
from chat.gateway.client import GatewayAnswer, GatewayClient, GatewayUnavailable

HOW_TO_SEND = (
    "Send the content of one file with its Content-Type, and its name in the header Content-Disposition: attachment; "
    "filename*=UTF-8''report.pdf."
)
FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
RETRY_AFTER = 5

# Each holds one file in memory while it sends it.
_threads = ThreadPoolExecutor(2, thread_name_prefix="chat-upload")


@api_view("POST")
async def upload_file(request: HttpRequest) -> HttpResponseBase:
    """Store a file for the user, and return {id, name, content_type, size, url}."""
    disposition = request.headers.get("Content-Disposition", "")
    if request.content_type in FORMS:
        raise ApiError(415, "unsupported_media_type", HOW_TO_SEND)
    if not disposition.isascii() or "filename" not in disposition:
        raise ApiError(400, "invalid_request", f"The request has no file name. {HOW_TO_SEND}")
    identity = await run_with_identity(request, lambda identity: identity)
    work = partial(_pass_on, request, identity, disposition)
    answer = await run_upload(work)
    if answer.status != HTTPStatus.OK:
        raise _explain_refusal(answer)
    return JsonResponse(answer.body)


async def run_upload(work: Callable[[], GatewayAnswer]) -> GatewayAnswer:
    """Run an upload in one of the threads for them."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


def _pass_on(request: HttpRequest, identity: Identity, disposition: str) -> GatewayAnswer:
    content = request.read(settings.GATEWAY_FILE_MAX_BYTES + 1)
    content_type = request.headers.get("Content-Type") or "application/octet-stream"
    try:
        client = GatewayClient(identity.credentials)
        return client.send_file(content, content_type=content_type, disposition=disposition)
    except GatewayUnavailable:
        message = "The gateway cannot be reached. Try again soon."
        raise ApiError(503, "gateway_unavailable", message, retry_after=RETRY_AFTER) from None


def _explain_refusal(answer: GatewayAnswer) -> ApiError:
    message = str(envelopes.get_error(answer.body).get("message", "The gateway refuses the file."))
    code = envelopes.get_reason(answer.body) or "refused"
    return ApiError(answer.status, code, message, retry_after=answer.retry_after)
