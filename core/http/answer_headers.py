"""Headers of an answer, which are data from outside: parsed in bounded time, and absent if they cannot be read."""

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from django.utils.http import parse_header_parameters

MAX_PARAMETERS = 2_000  # characters of a header with parameters; longer ones take the parser too long
MAX_DATE = 64
MAX_SECONDS_DIGITS = 9  # 30 years

Parameters = tuple[str, dict[str, str]]  # the value before the first semicolon, and the parameters by lower-case name


def parse_parameters(headers: Mapping[str, str], name: str) -> Parameters:
    """Return the value and the parameters of a header such as Content-Disposition; empty ones if it cannot be read."""
    value = headers.get(name, "").replace("\r", " ").replace("\n", " ")
    if len(value) > MAX_PARAMETERS:
        return "", {}
    try:
        return parse_header_parameters(value)
    except Exception:  # Python's parser has no error of its own: codecs and the header classes raise many
        return "", {}


def parse_retry_after(value: str, *, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110 section 10.2.3), None if it says nothing."""
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= MAX_SECONDS_DIGITS else None
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds()) if len(value) <= MAX_DATE else None
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
