"""/chat/ and /chat/c/<id>/: an empty page with suggestions, and a conversation."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.context.place import GLOBAL
from chat.conversations import store
from chat.conversations.lookup import get_conversation
from chat.conversations.turn_view import describe_conversation
from chat.events import failed_turns
from chat.pages import wording
from chat.pages.access import page_view
from chat.pages.shown_messages import find_context_name, show_messages
from chat.scripted_model.suggestions import SUGGESTIONS
from core import llm

LIST_SIZE = 50  # conversations at the side, until somebody asks for more


@require_safe
@page_view()
def show_new(request: HttpRequest, subject: str) -> HttpResponse:
    """Show the page on which a conversation begins."""
    return render(request, "chat/page.html", build_context(subject, session_id=None) | list_conversations(subject))


@require_safe
@page_view()
def show(request: HttpRequest, subject: str, session_id: UUID) -> HttpResponse:
    """Show a conversation."""
    context = build_context(subject, session_id=str(session_id)) | list_conversations(subject)
    return render(request, "chat/page.html", context)


def build_context(subject: str, *, session_id: str | None, place: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the templates need of a conversation, or of a new one at a place. Raises ApiError."""
    shared = {
        "is_scripted": not llm.is_configured(),
        "model": llm.get_endpoint(llm.Tier(settings.CHAT_MODEL_TIER)).model.name if llm.is_configured() else "",
        "suggestions": SUGGESTIONS,
        "vocabulary": {"past": wording.PAST},
    }
    if session_id is None:
        place = place or {"type": GLOBAL}
        names = show_messages([]).names
        return shared | {"conversation": None, "messages": [], "place": place, **_name_place(place, names)}
    failed_turns.mark_dead_turns()
    row = get_conversation(subject, session_id)
    shown = show_messages(list(row.messages.prefetch_related("calls").order_by("position")))
    return shared | {
        "conversation": describe_conversation(row),
        "messages": shown.messages,
        "place": row.context,
        **_name_place(row.context, shown.names),
    }


def list_conversations(subject: str) -> dict[str, Any]:
    """Return the first page of the subject's conversations, for the list at the side."""
    page = store.list_page(subject, query="", cursor="", size=LIST_SIZE)
    return {"conversations": page["conversations"], "next_cursor": page.get("next_cursor", "")}


def _name_place(place: dict[str, Any], names: Any) -> dict[str, Any]:
    return {"place_name": find_context_name(place, names)}
