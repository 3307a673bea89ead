"""The page of a conversation, whole or as a panel, and who can open it."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from chat.access import get_subject
from chat.context.layers import GLOBAL
from chat.context.sections import row_lines
from chat.conversations import store, transcript, versions
from chat.conversations.store import ContextField, describe_conversation, get_conversation
from chat.errors import ApiError
from chat.events import failed_turns
from chat.pages.shown_messages import find_context_name, show_messages
from chat.scripted_model.scripts import SUGGESTIONS
from chat.turns import wording
from core import llm

PageView = Callable[..., HttpResponse]
MAX_DRAFT = 2_000  # characters
LIST_SIZE = 50  # conversations in the sidebar, until the user asks for more


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send somebody to sign in, and back to this page afterwards."""
    return redirect(f"{reverse('chat_sign_in')}?{urlencode({'next': request.get_full_path()})}")


def ask_to_sign_in_elsewhere(request: HttpRequest) -> HttpResponse:
    """Ask somebody to sign in, in a new tab: the sign-in page is never shown in a frame."""
    return render(request, "chat/panel_sign_in.html", status=401)


def page_view(*, if_anonymous: PageView = redirect_to_sign_in) -> Callable[[PageView], PageView]:
    """Decorate a view, which gets the subject of the user as its second argument."""

    def decorate(view: PageView) -> PageView:
        @wraps(view)
        def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                response = if_anonymous(request)
            else:
                try:
                    response = view(request, get_subject(request.user.pk), **kwargs)
                except ApiError as error:
                    response = show_error(request, error)
            response.headers["Cache-Control"] = "no-store"
            return response

        return wrapper

    return decorate


def show_error(request: HttpRequest, error: ApiError) -> HttpResponse:
    """Return a page that says what is wrong and who can help."""
    titles = {"no_profile": "You have no chat profile", "not_found": "This conversation does not exist"}
    message = error.message
    if error.code == "not_found":
        message = "It may have been deleted, or it belongs to somebody else."
    context = {
        "title": titles.get(error.code, "This page cannot be shown"),
        "message": message,
        "has_chat": error.code != "no_profile",
    }
    return render(request, "chat/error.html", context, status=error.status)


@require_safe
@page_view()
def show_new(request: HttpRequest, subject: str) -> HttpResponse:
    """Show the page on which a conversation begins. `message` is what the field holds; nothing is sent."""
    context = build_context(subject, session_id=None) | list_conversations(subject)
    draft = request.GET.get("message", "").strip()[:MAX_DRAFT]
    return render(request, "chat/page.html", context | {"draft": draft})


@require_safe
@page_view()
def show_conversation(request: HttpRequest, subject: str, session_id: UUID) -> HttpResponse:
    """Show a conversation."""
    context = build_context(subject, session_id=str(session_id)) | list_conversations(subject)
    return render(request, "chat/page.html", context)


def build_context(subject: str, *, session_id: str | None, place: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the templates need of a conversation, or of a new one at a place. Raises ApiError."""
    shared = {
        "is_scripted": not llm.is_configured(),
        "model": llm.get_endpoint(llm.Tier(settings.CHAT_MODEL_TIER)).model.name if llm.is_configured() else "",
        "suggestions": SUGGESTIONS,
        "gateway_url": settings.GATEWAY_URL,  # empty: a proxy has both at one address
        "max_file_bytes": settings.GATEWAY_FILE_MAX_BYTES,
        "vocabulary": {"past": wording.PAST},
    }
    if session_id is None:
        place = place or {"type": GLOBAL}
        names = show_messages([], {}).names
        return shared | {"conversation": None, "messages": [], "place": place, **_name_place(place, names)}
    failed_turns.mark_dead_turns()
    row = get_conversation(subject, session_id)
    shown = show_messages(transcript.load_shown(row), versions.map_versions(row), row_lines.find_zone(row.zone))
    return shared | {
        "conversation": describe_conversation(row),
        "messages": shown.messages,
        "place": row.context,
        "zone": row.zone,
        **_name_place(row.context, shown.names),
    }


def list_conversations(subject: str) -> dict[str, Any]:
    """Return the first page of the subject's conversations, for the sidebar."""
    page = store.list_page(subject, query="", cursor="", size=LIST_SIZE)
    return {"conversations": page["conversations"], "next_cursor": page.get("next_cursor", "")}


def _name_place(place: dict[str, Any], names: Any) -> dict[str, Any]:
    return {"place_name": find_context_name(place, names)}


@require_safe
@xframe_options_exempt  # the Content-Security-Policy says who can embed it (config/csp.py)
@page_view(if_anonymous=ask_to_sign_in_elsewhere)
def show_panel(request: HttpRequest, subject: str) -> HttpResponse:
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
