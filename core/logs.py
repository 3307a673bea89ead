"""Log lines: JSON in production, plain text locally, with the request's trace id and without secrets.

The code logs with the standard library, and structlog formats. `trace` and `release` are set once they are known.
"""

import re
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from core import faults

HIDDEN = "***"
SHORTEST = 6  # characters; shorter secrets are not searched for, since they may be ordinary words
OURS = frozenset({"time", "level", "logger", "trace", "release"})
PLAIN = (str, int, float, list, tuple, dict, type(None))

trace: ContextVar[str] = ContextVar("trace", default="")  # trace id of this thread's request
release: ContextVar[str] = ContextVar("release", default="")  # version of the release that serves it

_TELLING = r"(?:password|passwd|secret|token|authorization|cookie|api_?key|pepper|credential)"
_NAMED = re.compile(_TELLING, re.IGNORECASE)

# Patterns of secrets anywhere in a text. The first group stays, the rest is masked.
_PATTERNS = [
    re.compile(r"(\b(?:bearer|authorization\W{1,5}basic)\s+)[^\s\"'\\,}]+", re.IGNORECASE),
    re.compile(r"(\bgw_[0-9a-f]{8})_[\w-]+"),  # a key's prefix is no secret and identifies the key
    re.compile(r"(://[^\s/:@\"']*:)[^\s/@\"']+(?=@)"),
    re.compile(rf"({_TELLING}[\w-]{{0,40}}\\?[\"']?\s*[=:]\s*\\?[\"']?)[^\s\"'\\,;&}})\]]+", re.IGNORECASE),
]


def formatter(*, as_json: bool, secrets: Collection[str] = ()) -> structlog.stdlib.ProcessorFormatter:
    """Return the formatter of all log lines. `secrets` are values to mask anywhere in a line.

    JSON lines show an exception's types and traceback without its message, which may quote a secret in any form. Plain
    text lines, for developers, include the message.
    """
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _add_request,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.ExceptionRenderer(_told) if as_json else structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            _hider([secret for secret in secrets if len(secret) >= SHORTEST]),
            structlog.processors.JSONRenderer() if as_json else _line,
        ],
    )


def clear() -> None:
    """Clear this thread's trace id and release."""
    trace.set("")
    release.set("")


def _add_request(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for name, variable in (("trace", trace), ("release", release)):
        if variable.get():
            event[name] = variable.get()
    return event


def _told(exc_info: ExcInfo) -> str:
    return faults.told(exc_info[1])


def _hider(secrets: list[str]) -> Processor:
    """Return a processor that masks secrets: by field name, by pattern, and the known values."""

    def hide(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        # Drop other objects: Django passes whole requests as extra.
        return {
            name: value if name in OURS else hidden(name, value)
            for name, value in event.items()
            if isinstance(value, PLAIN)
        }

    def hidden(name: object, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: hidden(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [hidden(name, item) for item in value]
        if not isinstance(value, PLAIN):
            return type(value).__name__
        return shown(value) if isinstance(value, str) and not _NAMED.search(str(name)) else _masked(value)

    def shown(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\g<1>{HIDDEN}", text)
        return text

    return hide


def _masked(value: Any) -> Any:
    return HIDDEN if isinstance(value, str) else value


def _line(_: WrappedLogger, __: str, event: EventDict) -> str:
    """Return one line of plain text, followed by the traceback if there is one."""
    time, level, logger = (event.pop(name, "") for name in ("time", "level", "logger"))
    message, exception = event.pop("message", ""), event.pop("exception", "")
    more = "".join(f" {name}={str(value)[:12] if name == 'release' else value}" for name, value in event.items())
    return f"{time} {level.upper()} {logger} {message}{more}" + (f"\n{exception}" if exception else "")
