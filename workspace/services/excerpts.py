"""Truncate the long texts of a row, and read on from an offset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.errors import FieldError, invalid
from workspace.kinds import Kind

DEFAULT_CHARS = 20_000
FEWEST_CHARS, MOST_CHARS = 500, 50_000  # whatever the schema allows

BEGINNING = 100  # characters that every text shows at least


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A row with truncated long texts."""

    row: dict[str, Any]
    cut: tuple[str, ...]  # the names of the truncated texts


def of_row(row: Mapping[str, Any], *, kind: Kind, max_chars: int = DEFAULT_CHARS) -> Excerpt:
    """Return a complete row, or a part of one, with its long texts truncated to `max_chars` in all.

    Every text shows its beginning. The remaining characters go to the texts in the order of `kind.long_texts`. In the
    row, `truncated` has, for each truncated text, the characters shown, its length, and the offset to read on from.
    """
    texts = {name: row[name] for name in kind.long if row.get(name)}
    left = min(max(max_chars, FEWEST_CHARS), MOST_CHARS)
    shares = {name: min(len(text), BEGINNING) for name, text in texts.items()}
    left -= sum(shares.values())
    for name, text in texts.items():
        more = min(len(text) - shares[name], left)
        shares[name] += more
        left -= more
    cut = {name: text for name, text in texts.items() if shares[name] < len(text)}
    shown = {name: text[: shares[name]] for name, text in cut.items()}
    truncated = {name: cut_off(shares[name], len(text)) for name, text in cut.items()}
    return Excerpt({**row, **shown, **({"truncated": truncated} if cut else {})}, tuple(cut))


def of_field(row: Mapping[str, Any], name: str, *, kind: Kind, offset: int, max_chars: int = DEFAULT_CHARS) -> Excerpt:
    """Return one long text of a row from an offset in characters, with the row's id and label.

    Raises InvalidArgs if the field is not a long text of this type, or if the offset is beyond the end.
    """
    if name not in kind.long:
        message = f"field is not a long text of a {kind.name}; send one of {', '.join(kind.long)}, or leave it out."
        raise invalid([FieldError(path="/field", code="unknown_field", message=message, expected=list(kind.long))])
    text = row[name] or ""
    shown = part(text, name, offset=offset, max_chars=max_chars)
    named = {name: row[name] for name in ("id", kind.label)}
    return Excerpt(named | shown, (name,) if "truncated" in shown else ())


def part(text: str, name: str, *, offset: int, max_chars: int = DEFAULT_CHARS) -> dict[str, Any]:
    """Return {name: text from the offset}, and `truncated` if the text continues after that.

    Raises InvalidArgs if the offset is beyond the end.
    """
    if offset > len(text):
        message = f"offset is beyond the end; {name} has {len(text)} characters, so send at most {len(text)}."
        raise invalid([FieldError(path="/offset", code="beyond_the_end", message=message, expected=len(text))])
    shown = text[offset : offset + min(max(max_chars, FEWEST_CHARS), MOST_CHARS)]
    goes_on = offset + len(shown) < len(text)
    return {name: shown} | ({"truncated": {name: cut_off(len(shown), len(text), offset)}} if goes_on else {})


def cut_off(shown: int, length: int, offset: int = 0) -> dict[str, int]:
    """Return the `truncated` entry of a text: characters shown, total length and next offset."""
    return {"shown": shown, "length": length, "next_offset": offset + shown}
