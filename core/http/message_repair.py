"""Messages of JSON-RPC that a strict parser refuses, written as strict JSON."""

from typing import NamedTuple

import orjson

from core.text import decoding, json_text
from core.text.lenient_json import LenientReader, UnreadableJSON

_WHITESPACE = b" \t\r\n"


class RepairedText(NamedTuple):
    """A text as bytes, and sentences on what was changed."""

    content: bytes
    remarks: tuple[str, ...] = ()


def repair_message(content: bytes, *, charset: str = "", finds_repeated_keys: bool = False) -> RepairedText:
    """Return a message as strict JSON in UTF-8; unchanged if it is that already or no JSON at all.

    Repeated keys are strict JSON, so looking for them takes longer.
    """
    if not finds_repeated_keys and _is_strict(content):
        return RepairedText(content)
    decoded = decoding.decode(content, charset)
    reader = LenientReader()
    try:
        value = reader.parse(decoded.text)
    except UnreadableJSON:
        return RepairedText(content)
    if not reader.remarks and _is_strict(content):
        return RepairedText(content)
    guesses = (f"The answer {decoded.remark}.",) if decoded.remark else ()
    end = content[len(content.rstrip(_WHITESPACE)) :]
    return RepairedText(json_text.dump(value) + end, (*guesses, *reader.remarks))


def repair_events(content: bytes, *, finds_repeated_keys: bool = False) -> RepairedText:
    """Return whole events of a stream with the message of each as strict JSON."""
    remarks: dict[str, None] = {}
    lines = []
    for line in content.splitlines(keepends=True):
        name, separator, data = line.partition(b":")
        if name == b"data" and data.strip():
            data, changes = repair_message(data, finds_repeated_keys=finds_repeated_keys)
            remarks |= dict.fromkeys(changes)
            line = name + separator + data
        lines.append(line)
    return RepairedText(b"".join(lines), tuple(remarks))


def _is_strict(content: bytes) -> bool:
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        return False
    return True
