"""The labels of data flow that an import gives an op: from the hints of its server, its names and its kind.

They are a default for admins. A label that is missing lets a call through, and one too many asks the user once more, so
only words that say it plainly count.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from registry.flow_labels import FlowLabel, sort_flow_labels
from registry.text import tool_name_words

# Verbs of a write that carry text to people or services outside.
_SENDING_VERBS = frozenset(
    """
    announce broadcast dm email fax forward invite mail message notify publish reply send share sms submit telegram text
    tweet upload
""".split()
)
# Things whose making is sending: create_message, add_comment, post /webhooks.
_SENT_THINGS = frozenset(
    """
    announcement broadcast chat comment dm email gist invitation invite issue mail message notification post push reply
    review sms status tweet webhook
""".split()
)
_MAKING_VERBS = frozenset("add call create deliver dispatch draft fire insert new post put trigger write".split())
# Things in which strangers write: inbox, comments, pages of the web.
_STRANGERS_TEXT = frozenset(
    """
    article attachment browser chat comment crawl email feed feedback forum html inbox internet issue mail message news
    page post reply review rss scrape snippet support tweet ticket transcript url web webpage website
""".split()
)
_WEB_VERBS = frozenset("browse crawl scrape visit".split())
_FETCH = ["fetch"]  # alone it fetches a page; what else is fetched, its other words say


def find_flow_labels(names: Iterable[str], *, is_write: bool, hints: Mapping[str, Any] | None = None) -> list[str]:
    """Return the labels of an op: by the words of its names, and by `openWorldHint` of an MCP tool.

    An open world means strangers for a read, and a place outside for a write. A closed one means neither.
    """
    open_world = (hints or {}).get("openWorldHint")
    if open_world is False:
        return []
    words = [tool_name_words.to_singular(word.lower()) for name in names for word in tool_name_words.split_name(name)]
    if is_write:
        found = FlowLabel.OUTBOUND if open_world is True or _sends(words) else None
    else:
        is_by_strangers = words == _FETCH or any(word in _STRANGERS_TEXT or word in _WEB_VERBS for word in words)
        found = FlowLabel.UNTRUSTED if open_world is True or is_by_strangers else None
    return sort_flow_labels([found]) if found else []


def _sends(words: list[str]) -> bool:
    if any(word in _SENDING_VERBS for word in words[:2]):
        return True
    return any(word in _MAKING_VERBS for word in words[:2]) and any(word in _SENT_THINGS for word in words)
