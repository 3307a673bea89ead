"""Conversations of the caller: list, search, suggest, read, rename, delete, export; their answers: rate, cancel."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from chat.access import Identity
from chat.api.base import api_view, run_with_identity
from chat.api.requests import CancelRequest, FeedbackRequest, RenameRequest, VersionRequest, read_body
from chat.conversations import ratings, store, transcript, versions
from chat.errors import ApiError
from chat.gateway import service_suggestions

PAGE_SIZE = 50


@api_view("GET")
async def list_conversations(request: HttpRequest) -> HttpResponseBase:
    """Return {conversations: [{id, title, context, updated_at}], next_cursor?}, newest first. `q` searches."""
    query, cursor = request.GET.get("q", ""), request.GET.get("cursor", "")
    page = await run_with_identity(
        request, lambda identity: store.list_page(identity.subject, query=query, cursor=cursor, size=PAGE_SIZE)
    )
    return JsonResponse(page)


@api_view("GET")
async def list_suggestions(request: HttpRequest) -> HttpResponseBase:
    """Return {suggestions: [{title, text}]} for the connected services. The page has its own for the workspace."""
    found = await run_with_identity(
        request, lambda identity: service_suggestions.list_service_suggestions(identity.credentials)
    )
    return JsonResponse({"suggestions": found})


@api_view("GET", "PATCH", "DELETE")
async def handle_conversation(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """Return a conversation with its messages and calls; rename it; delete it."""

    def read_or_change(identity: Identity) -> dict[str, Any] | None:
        if request.method == "PATCH":
            title = read_body(request, RenameRequest)["title"]
            return store.rename(identity.subject, str(session_id), title=title)
        if request.method == "DELETE":
            store.delete(identity.subject, str(session_id))
            return None
        return transcript.read_shown(identity.subject, str(session_id))

    content = await run_with_identity(request, read_or_change)
    return JsonResponse(content) if content is not None else HttpResponse(status=204)


@api_view("GET")
async def export_conversation(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """Return a conversation as a file: JSON with everything that is stored about it."""
    content = await run_with_identity(request, lambda identity: transcript.read_all(identity.subject, str(session_id)))
    headers = {"Content-Disposition": f'attachment; filename="conversation-{session_id}.json"'}
    return JsonResponse(content, headers=headers, json_dumps_params={"indent": 2, "ensure_ascii": False})


@api_view("POST")
async def cancel_turn(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """Stop the turn that runs. If `message_id` names one that has ended, nothing happens."""

    def cancel_running_turn(identity: Identity) -> bool:
        message_id = read_body(request, CancelRequest).get("message_id")
        return store.cancel(identity.subject, str(session_id), message_id=str(message_id) if message_id else None)

    return JsonResponse({"cancelled": await run_with_identity(request, cancel_running_turn)})


@api_view("POST")
async def rate_answer(request: HttpRequest, session_id: str, message_id: str) -> HttpResponseBase:
    """Store what the user thinks of an answer."""

    def store_rating(identity: Identity) -> None:
        body = read_body(request, FeedbackRequest)
        ratings.rate_answer(identity.credentials, str(session_id), str(message_id), **body)

    await run_with_identity(request, store_rating)
    return HttpResponse(status=204)


@api_view("POST")
async def show_version(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """Show another version of a message, and return the conversation with what follows it."""

    def switch_version(identity: Identity) -> dict[str, Any]:
        message_id = read_body(request, VersionRequest)["message_id"]
        versions.show_version(identity.subject, str(session_id), str(message_id))
        return transcript.read_shown(identity.subject, str(session_id))

    return JsonResponse(await run_with_identity(request, switch_version))


@api_view("GET", "POST", "PUT", "PATCH", "DELETE")
async def not_found(_: HttpRequest, path: str) -> HttpResponseBase:  # noqa: ARG001 - the route has it
    """Answer for all other paths of the API."""
    raise ApiError(404, "not_found", "There is no such endpoint. docs/chat.md lists them all.")
