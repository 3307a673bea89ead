"""/chat/panel/: the chat without its list, to be embedded in other pages."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from chat.conversations.context_field import ContextField
from chat.errors import ApiError
from chat.pages.access import ask_to_sign_in_elsewhere, page_view
from chat.pages.conversation_page import build_context


@require_safe
@xframe_options_exempt  # the Content-Security-Policy says who may embed it (config/csp.py)
@page_view(if_anonymous=ask_to_sign_in_elsewhere)
def show(request: HttpRequest, subject: str) -> HttpResponse:
    """Show a new conversation at a place, or the conversation `session`.

    The place has the fields of a request's context, such as ?type=project&project_id=… .
    """
    session_id = _read_session_id(request.GET.get("session", ""))
    place = None if session_id else _read_place(request)
    context = build_context(subject, session_id=session_id, place=place)
    return render(request, "chat/panel.html", context | {"is_panel": True})


def _read_session_id(text: str) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        raise ApiError(404, "not_found", "There is no such conversation.") from None


def _read_place(request: HttpRequest) -> dict[str, Any] | None:
    names = ("type", "project_id", "entity_id")
    fields = {name: request.GET[name] for name in names if request.GET.get(name)}
    if not fields:
        return None
    serializer = ContextField(data=fields)
    if not serializer.is_valid():
        text = "The address of this panel is wrong. It takes type, project_id and entity_id, as a request's context."
        raise ApiError(400, "invalid_request", text)
    place: dict[str, Any] = serializer.validated_data
    return place
