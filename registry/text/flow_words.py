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
    article attachment chat comment email feed feedback forum html inbox issue mail message news page post reply review
    rss snippet support tweet ticket transcript url
""".split()
)
# Words of the web, of which also a write answers with text: browser_click.
_WEB_WORDS = frozenset("browse browser crawl internet scrape visit web webpage website".split())
_FETCH = ["fetch"]  # alone it fetches a page; what else is fetched, its other words say


def find_flow_labels(names: Iterable[str], *, is_write: bool, hints: Mapping[str, Any] | None = None) -> list[str]:
    """Return the labels of an op: by the words of its names, and by `openWorldHint` of an MCP tool.

    An open world means strangers for a read, and a place outside for a write. A closed one takes nothing back: the
    server's word is not enough if the name says that the tool sends.
    """
    is_open = (hints or {}).get("openWorldHint") is True
    words = [tool_name_words.to_singular(word.lower()) for name in names for word in tool_name_words.split_name(name)]
    if is_write:
        found = {FlowLabel.OUTBOUND} if is_open or _sends(words) else set()
    else:
        is_by_strangers = words == _FETCH or any(word in _STRANGERS_TEXT for word in words)
        found = {FlowLabel.UNTRUSTED} if is_open or is_by_strangers else set()
    if any(word in _WEB_WORDS for word in words):
        found.add(FlowLabel.UNTRUSTED)
    return sort_flow_labels(found)


def _sends(words: list[str]) -> bool:
    if any(word in _SENDING_VERBS for word in words[:2]):
        return True
    return any(word in _MAKING_VERBS for word in words[:2]) and any(word in _SENT_THINGS for word in words)
