"""Log lines: JSON in production, text locally, with the request's trace id and without secrets.

The code logs with the standard library, and structlog formats. `trace` and `release` are set once they are known.
"""

import logging
import re
import threading
import traceback
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

log = logging.getLogger(__name__)
LONGEST_CHAIN = 10  # exceptions; a longer chain is a loop
MASK = "***"
MIN_SECRET_LENGTH = 6  # characters; shorter secrets are not searched for, since they may be ordinary words
UNMASKED_FIELDS = frozenset({"time", "level", "logger", "trace", "release"})
LOGGED_TYPES = (str, int, float, list, tuple, dict, type(None))
trace: ContextVar[str] = ContextVar("trace", default="")  # trace id of this thread's request
release: ContextVar[str] = ContextVar("release", default="")  # version of the release that serves it
_REDACTED_KEYS = r"(?:password|passwd|secret|token|authorization|cookie|api_?key|pepper|credential)"
_SECRET_NAME = re.compile(_REDACTED_KEYS, re.IGNORECASE)

# Patterns of secrets anywhere in a text. The first group stays, the rest is masked.
_PATTERNS = [
    re.compile(r"(\b(?:bearer|authorization\W{1,5}basic)\s+)[^\s\"'\\,}]+", re.IGNORECASE),
    re.compile(r"(\bgw_[0-9a-f]{8})_[\w-]+"),  # a key's prefix is not a secret and identifies the key
    re.compile(r"(://[^\s/:@\"']*:)[^\s/@\"']+(?=@)"),
    re.compile(rf"({_REDACTED_KEYS}[\w-]{{0,40}}\\?[\"']?\s*[=:]\s*\\?[\"']?)[^\s\"'\\,;&}})\]]+", re.IGNORECASE),
]


def format_safely(error: BaseException) -> str:
    """Return the types and tracebacks of an exception and its causes, first cause first, without their messages.

    Messages quote values: a KeyError its key, PostgreSQL the row that violates a constraint. For a database error the
    SQLSTATE and the constraint's name are included instead.
    """
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < LONGEST_CHAIN:
        frames = "".join(traceback.format_list(traceback.extract_tb(current.__traceback__)))
        parts.append(
            f"{frames}{type(current).__module__}.{type(current).__qualname__}{_describe_database_error(current)}"
        )
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\nwhich led to:\n".join(reversed(parts))


def log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    """Log an exception that ended a thread. Installed as threading.excepthook, whose default prints the message."""
    name = failure.thread.name if failure.thread else "unknown"
    log.error("thread.failed name=%s", name, exc_info=failure.exc_value)


def _describe_database_error(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    constraint = getattr(getattr(error, "diag", None), "constraint_name", None)
    details = " ".join(str(part) for part in (state, constraint) if part)
    return f" ({details})" if details else ""


def build_formatter(*, as_json: bool, secrets: Collection[str] = ()) -> structlog.stdlib.ProcessorFormatter:
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
            structlog.processors.ExceptionRenderer(_format_exception)
            if as_json
            else structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            _build_masker([secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH]),
            structlog.processors.JSONRenderer() if as_json else _render_line,
        ],
    )


def clear_context() -> None:
    """Clear this thread's trace id and release."""
    trace.set("")
    release.set("")


def _add_request(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for name, variable in (("trace", trace), ("release", release)):
        if variable.get():
            event[name] = variable.get()
    return event


def _format_exception(exc_info: ExcInfo) -> str:
    return format_safely(exc_info[1])


def _build_masker(secrets: list[str]) -> Processor:
    """Return a processor that masks secrets: by field name, by pattern, and the known values."""

    def mask_event(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        # Drop other objects: Django passes whole requests as extra.
        return {
            name: value if name in UNMASKED_FIELDS else mask_value(name, value)
            for name, value in event.items()
            if isinstance(value, LOGGED_TYPES)
        }

    def mask_value(name: object, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: mask_value(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [mask_value(name, item) for item in value]
        if not isinstance(value, LOGGED_TYPES):
            return type(value).__name__
        return (
            mask_text(value) if isinstance(value, str) and not _SECRET_NAME.search(str(name)) else _mask_string(value)
        )

    def mask_text(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\g<1>{MASK}", text)
        return text

    return mask_event


def _mask_string(value: Any) -> Any:
    return MASK if isinstance(value, str) else value


def _render_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    """Return one line of plain text, followed by the traceback if there is one."""
    time, level, logger = (event.pop(name, "") for name in ("time", "level", "logger"))
    message, exception = event.pop("message", ""), event.pop("exception", "")
    extras = "".join(f" {name}={str(value)[:12] if name == 'release' else value}" for name, value in event.items())
    return f"{time} {level.upper()} {logger} {message}{extras}" + (f"\n{exception}" if exception else "")
