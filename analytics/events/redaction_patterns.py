"""What looks private in a text: addresses, card numbers, tokens and keys. Each pattern takes linear time."""

import re
from collections.abc import Collection, Iterator
from enum import StrEnum

REDACTED_MARK = "[redacted"  # how every redacted value or part of a text begins


class PatternName(StrEnum):
    """The patterns that can be redacted, as the console lists them."""

    EMAIL = "e-mail"
    CARD = "card"
    TOKEN = "token"  # noqa: S105 - a name
    KEY = "key"


_PATTERNS = {
    PatternName.EMAIL: re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"),
    PatternName.CARD: re.compile(r"(?<![0-9])[0-9](?:[ -]?[0-9]){12,18}(?![0-9])"),
    # JSON Web Tokens, and what follows "Bearer".
    PatternName.TOKEN: re.compile(
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
        r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{12,}"
    ),
    # Keys that begin with a known prefix, and private keys.
    PatternName.KEY: re.compile(
        r"\b(?:sk|pk|rk|gw|ghp|gho|ghs|github_pat|glpat|xox[abposr])[_-][A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b"
        r"|\bAIza[A-Za-z0-9_-]{30,}"
        r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
    ),
}


def redact_text(text: str, names: Collection[str]) -> str:
    """Return a text with what these patterns find replaced by "[redacted e-mail]" and so on."""
    for name, pattern in _PATTERNS.items():
        if name in names:
            text = pattern.sub(lambda found, name=name: _replace(name, found[0]), text)  # type: ignore[misc]
    return text


def _replace(name: PatternName, found: str) -> str:
    if name == PatternName.CARD and not _is_card_number(found):
        return found
    return f"{REDACTED_MARK} {name}]"


def _is_card_number(text: str) -> bool:
    """Return whether the check digit is right (Luhn, ISO/IEC 7812-1): other long numbers are ids and times."""
    return sum(_iterate_luhn_digits(text)) % 10 == 0


def _iterate_luhn_digits(text: str) -> Iterator[int]:
    digits = [int(character) for character in text if character.isdigit()]
    for place, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if place % 2 else digit
        yield doubled - 9 if doubled > 9 else doubled
