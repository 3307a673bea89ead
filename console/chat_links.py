"""Links to the chat, with messages that try ops. Without an app that is a chat, there are none."""

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core import manifest
from registry.catalog import cache
from registry.models import Op

MAX_TRIALS = 2
_MAX_READ = 200  # ops among which to choose


class ChatTrial(NamedTuple):
    """A message that tries an op, and the address of the chat with this message filled in."""

    message: str
    link: str


def get_chat_url() -> str:
    """Return the address of the chat, empty if there is none."""
    pages = manifest.get().chat_pages
    return pages[0]("") if pages else ""


def build_context(ops: QuerySet[Op]) -> dict[str, Any]:
    """Return what console/try_in_chat.html needs: `trials` if ops are live, else whether they could be tried then."""
    if not manifest.get().chat_pages:
        return {}
    trials = list_trials(ops)
    return {"trials": trials} if _has_live(ops) else {"trials_after_publish": bool(trials)}


def format_trials(ops: QuerySet[Op]) -> SafeString:
    """Return a sentence with the links, empty if there are none."""
    links = format_html_join(", ", '<a class="ui-link" href="{1}">{0}</a>', list_trials(ops))
    return format_html("Try it in the chat: {}.", links) if links else SafeString()


def list_trials(ops: QuerySet[Op]) -> list[ChatTrial]:
    """Return a message for each of two ops of different groups, lists first: reads that need no args."""
    pages = manifest.get().chat_pages
    rows = ops.filter(status=Op.Status.ACTIVE, kind=Op.Kind.READ).order_by("op")[:_MAX_READ]
    simple = [row for row in rows if not row.parameters_schema.get("required")]
    by_group: dict[str, str] = {}
    for row in sorted(simple, key=lambda row: not row.op.rpartition(".")[2].startswith("list")):
        by_group.setdefault(row.op.rpartition(".")[0], row.summary.rstrip("."))
    return [ChatTrial(message, page(message)) for page in pages[:1] for message in [*by_group.values()][:MAX_TRIALS]]


def _has_live(ops: QuerySet[Op]) -> bool:
    try:
        live = cache.get_live_catalog().ops
    except cache.NoLiveRelease:
        return False
    return any(path in live for path in ops.values_list("op", flat=True)[:_MAX_READ])
