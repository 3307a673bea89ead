"""Long texts of a row cut to a number of characters, and read on from where they were cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.errors import FieldError, invalid
from workspace.kinds import Kind

DEFAULT_CHARS = 20_000
FEWEST_CHARS, MOST_CHARS = 500, 50_000  # whatever a schema allows

BEGINNING = 100  # characters that every text shows, however much those before it take


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A row whose long texts have no more characters than were asked for."""

    row: dict[str, Any]
    cut: tuple[str, ...]  # the texts that go on


def of_row(row: Mapping[str, Any], *, kind: Kind, max_chars: int = DEFAULT_CHARS) -> Excerpt:
    """Return a row (as rows.whole makes it, or a part of it) with its long texts cut.

    All texts show their beginning; what is left goes to the first of `kind.long`, then to the next. `truncated` in the
    row says for each text that goes on how many characters are shown of how many, and at which offset to read on.
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
    """Return a row of one long text, from an offset in characters, and of what names the row.

    Raises Invalid for a name that is no long text of the kind, and for an offset beyond the end.
    """
    if name not in kind.long:
        message = f"field is no long text of a {kind.name}; send one of {', '.join(kind.long)}, or leave it out."
        raise invalid([FieldError(path="/field", code="unknown_field", message=message, expected=list(kind.long))])
    text = row[name] or ""
    shown = part(text, name, offset=offset, max_chars=max_chars)
    named = {name: row[name] for name in ("id", kind.label)}
    return Excerpt(named | shown, (name,) if "truncated" in shown else ())


def part(text: str, name: str, *, offset: int, max_chars: int = DEFAULT_CHARS) -> dict[str, Any]:
    """Return a text from an offset on under its name and, where it goes on beyond what is shown, `truncated`.

    Raises Invalid for an offset beyond the end.
    """
    if offset > len(text):
        message = f"offset is beyond the end; {name} has {len(text)} characters, so send at most that."
        raise invalid([FieldError(path="/offset", code="beyond_the_end", message=message, expected=len(text))])
    shown = text[offset : offset + min(max(max_chars, FEWEST_CHARS), MOST_CHARS)]
    goes_on = offset + len(shown) < len(text)
    return {name: shown} | ({"truncated": {name: cut_off(len(shown), len(text), offset)}} if goes_on else {})


def cut_off(shown: int, length: int, offset: int = 0) -> dict[str, int]:
    """Return what `truncated` says of a text: how much of it is shown, and where to read on."""
    return {"shown": shown, "length": length, "next_offset": offset + shown}
