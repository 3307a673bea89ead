"""Format exceptions for logs without their messages, which may quote a caller's secrets."""

import logging
import threading
import traceback

log = logging.getLogger(__name__)

LONGEST_CHAIN = 10  # exceptions; a longer chain is a loop


def format(error: BaseException) -> str:
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
