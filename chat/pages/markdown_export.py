"""A conversation as Markdown, to read or to pass on: what is shown of it, without tool calls."""

from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from chat.conversations import transcript
from chat.conversations.store import get_conversation
from chat.models import Conversation, Message
from chat.pages.conversation_page import page_view
from chat.turns import wording


@require_safe
@page_view()
def download_markdown(request: HttpRequest, subject: str, session_id: UUID) -> HttpResponse:  # noqa: ARG001 - as all pages
    """Return a conversation as a Markdown file."""
    conversation = get_conversation(subject, str(session_id))
    name = quote(slugify(conversation.title, allow_unicode=True) or "conversation")
    return HttpResponse(
        render_conversation(conversation, transcript.load_shown(conversation)),
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}.md"},
    )


def render_conversation(conversation: Conversation, messages: list[Message]) -> str:
    """Return a conversation as Markdown: a heading for each message, its text, and what it changed."""
    lines = [f"# {conversation.title or 'Conversation'}", f"{conversation.created_at:%-d %B %Y, %H:%M} UTC"]
    for message in messages:
        lines += _render_message(message)
    return "\n\n".join(lines) + "\n"


def _render_message(message: Message) -> Iterator[str]:
    yield "## You" if message.role == Message.Role.USER else "## Assistant"
    if message.text.strip():
        yield message.text.strip()
    if message.files:
        yield "\n".join(f"- File: {each['name']}" for each in message.files)
    if written := wording.drop_repaired(message.written):
        yield "\n".join(f"- {wording.describe_write(operation)}" for operation in written)
    if error := (message.error or {}).get("message"):
        yield f"*{error}*"
