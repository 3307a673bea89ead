"""The labels of data flow that an import gives."""

from typing import Any

from registry.text.flow_words import find_flow_labels
from tests.support.loops import for_each


@for_each(
    "name, is_write, hints, labels",
    [
        ("send_email", True, {}, ["outbound"]),
        ("slack_post_message", True, {}, ["outbound"]),
        ("create_issue_comment", True, {}, ["outbound"]),
        ("update_issue", True, {}, []),
        ("create_order", True, {}, []),
        ("get_email", False, {}, ["untrusted"]),
        ("fetch", False, {}, ["untrusted"]),
        ("fetch_orders", False, {}, []),
        ("brave_web_search", False, {}, ["untrusted"]),
        ("browser_click", True, {}, ["untrusted"]),
        ("run_query", False, {"openWorldHint": True}, ["untrusted"]),
        ("run_query", True, {"openWorldHint": True}, ["outbound"]),
        ("send_email", True, {"openWorldHint": False}, ["outbound"]),
        ("send_email", True, {"openWorldHint": "yes"}, ["outbound"]),
    ],
)
def test_labels_come_from_the_name_and_the_hint(
    name: str, is_write: bool, hints: dict[str, Any], labels: list[str]
) -> None:
    assert find_flow_labels([name], is_write=is_write, hints=hints) == labels
