"""Format exceptions for logs without their messages, which may quote a caller's secrets."""

import logging
import threading
import traceback

log = logging.getLogger(__name__)

LONGEST_CHAIN = 10  # exceptions; a longer chain is a loop


def told(error: BaseException) -> str:
    """Return the types and tracebacks of an exception and its causes, first cause first, without their messages.

    Messages quote values: a KeyError its key, PostgreSQL the row that violates a constraint. For a database error the
    SQLSTATE and the constraint's name are included instead.
    """
    parts: list[str] = []
    at: BaseException | None = error
    while at is not None and len(parts) < LONGEST_CHAIN:
        frames = "".join(traceback.format_list(traceback.extract_tb(at.__traceback__)))
        parts.append(f"{frames}{type(at).__module__}.{type(at).__qualname__}{_of_database(at)}")
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "\nwhich led to:\n".join(reversed(parts))


def log_thread(ended: threading.ExceptHookArgs) -> None:
    """Log an exception that ended a thread. Installed as threading.excepthook, whose default prints the message."""
    name = ended.thread.name if ended.thread else "unknown"
    log.error("thread.failed name=%s", name, exc_info=ended.exc_value)


def _of_database(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    constraint = getattr(getattr(error, "diag", None), "constraint_name", None)
    told = " ".join(str(part) for part in (state, constraint) if part)
    return f" ({told})" if told else ""
