"""Log lines: JSON in production, readable locally, each with its request's trace id, none with a secret.

The code logs with the standard library; structlog formats. What a line is about is set where it becomes known.
"""

import re
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from core import faults

HIDDEN = "***"
SHORTEST = 6  # characters; a password that is a word of every second line is not looked for
OURS = frozenset({"time", "level", "logger", "trace", "release"})
PLAIN = (str, int, float, list, tuple, dict, type(None))

trace: ContextVar[str] = ContextVar("trace", default="")  # the trace id of the request that this thread answers
release: ContextVar[str] = ContextVar("release", default="")  # the version under which it is answered

_TELLING = r"(?:password|passwd|secret|token|authorization|cookie|api_?key|pepper|credential)"
_NAMED = re.compile(_TELLING, re.IGNORECASE)

# What a secret looks like wherever it stands; the first group is kept.
_PATTERNS = [
    re.compile(r"(\b(?:bearer|authorization\W{1,5}basic)\s+)[^\s\"'\\,}]+", re.IGNORECASE),
    re.compile(r"(\bgw_[0-9a-f]{8})_[\w-]+"),  # the prefix of a key is no secret and says which one it was
    re.compile(r"(://[^\s/:@\"']*:)[^\s/@\"']+(?=@)"),
    re.compile(rf"({_TELLING}[\w-]{{0,40}}\\?[\"']?\s*[=:]\s*\\?[\"']?)[^\s\"'\\,;&}})\]]+", re.IGNORECASE),
]


def formatter(*, as_json: bool, secrets: Collection[str] = ()) -> structlog.stdlib.ProcessorFormatter:
    """Return the formatter of all log lines. `secrets` are values that no line may show, whatever leads to them.

    As JSON an exception is told by types and places alone: a secret in its message need not look like one. A developer
    reads the message, too.
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
    """Forget what this thread's lines were about."""
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
    """Return the processor that hides secrets: by name, by what they look like, and those that are known."""

    def hide(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        # Objects are left out: Django hands on whole requests.
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
    """Return one readable line; what a traceback says follows on lines of its own."""
    time, level, logger = (event.pop(name, "") for name in ("time", "level", "logger"))
    message, exception = event.pop("message", ""), event.pop("exception", "")
    more = "".join(f" {name}={str(value)[:12] if name == 'release' else value}" for name, value in event.items())
    return f"{time} {level.upper()} {logger} {message}{more}" + (f"\n{exception}" if exception else "")
