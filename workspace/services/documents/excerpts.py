"""Truncate the long texts of a row, and read on from an offset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.entity_types import EntityType
from workspace.errors import ArgumentError, build_invalid_args

DEFAULT_CHARS = 20_000
MIN_CHARS, MAX_CHARS = 500, 50_000  # whatever the schema allows

MIN_TEXT_CHARS = 100  # characters that every text shows at least


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A row with truncated long texts."""

    row: dict[str, Any]
    truncated_fields: tuple[str, ...]  # the names of the truncated texts


def truncate_row(row: Mapping[str, Any], *, kind: EntityType, max_chars: int = DEFAULT_CHARS) -> Excerpt:
    """Return a complete row, or a part of one, with its long texts truncated to `max_chars` in all.

    Every text shows its beginning. The remaining characters go to the texts in the order of `kind.long_texts`. In the
    row, `truncated` has, for each truncated text, the characters shown, its length, and the offset to read on from.
    """
    texts = {name: row[name] for name in kind.long_texts if row.get(name)}
    remaining = min(max(max_chars, MIN_CHARS), MAX_CHARS)
    shares = {name: min(len(text), MIN_TEXT_CHARS) for name, text in texts.items()}
    remaining -= sum(shares.values())
    for name, text in texts.items():
        more = min(len(text) - shares[name], remaining)
        shares[name] += more
        remaining -= more
    truncated_texts = {name: text for name, text in texts.items() if shares[name] < len(text)}
    shown_texts = {name: text[: shares[name]] for name, text in truncated_texts.items()}
    truncated = {name: build_truncated_entry(shares[name], len(text)) for name, text in truncated_texts.items()}
    return Excerpt(
        {**row, **shown_texts, **({"truncated": truncated} if truncated_texts else {})}, tuple(truncated_texts)
    )


def read_field(
    row: Mapping[str, Any], name: str, *, kind: EntityType, offset: int, max_chars: int = DEFAULT_CHARS
) -> Excerpt:
    """Return one long text of a row from an offset in characters, with the row's id and label.

    Raises InvalidArgs if the field is not a long text of this type, or if the offset is beyond the end.
    """
    if name not in kind.long_texts:
        message = (
            f"field is not a long text of a {kind.name}; send one of {', '.join(kind.long_texts)}, or leave it out."
        )
        raise build_invalid_args(
            [ArgumentError(path="/field", code="unknown_field", message=message, expected=list(kind.long_texts))]
        )
    text = row[name] or ""
    shown = read_part(text, name, offset=offset, max_chars=max_chars)
    row_label = {name: row[name] for name in ("id", kind.label)}
    return Excerpt(row_label | shown, (name,) if "truncated" in shown else ())


def read_part(text: str, name: str, *, offset: int, max_chars: int = DEFAULT_CHARS) -> dict[str, Any]:
    """Return {name: text from the offset}, and `truncated` if the text continues after that.

    Raises InvalidArgs if the offset is beyond the end.
    """
    if offset > len(text):
        message = f"offset is beyond the end; {name} has {len(text)} characters, so send at most {len(text)}."
        raise build_invalid_args(
            [ArgumentError(path="/offset", code="beyond_the_end", message=message, expected=len(text))]
        )
    shown = text[offset : offset + min(max(max_chars, MIN_CHARS), MAX_CHARS)]
    goes_on = offset + len(shown) < len(text)
    return {name: shown} | (
        {"truncated": {name: build_truncated_entry(len(shown), len(text), offset)}} if goes_on else {}
    )


def build_truncated_entry(shown: int, length: int, offset: int = 0) -> dict[str, int]:
    """Return the `truncated` entry of a text: characters shown, total length and next offset."""
    return {"shown": shown, "length": length, "next_offset": offset + shown}
