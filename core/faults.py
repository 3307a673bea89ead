"""What a log line tells of an exception: where it happened, never what it said, since that may be a caller's secret."""

import logging
import threading
import traceback

log = logging.getLogger(__name__)

LONGEST_CHAIN = 10  # exceptions; a longer chain is a loop


def told(error: BaseException) -> str:
    """Return an exception and what it came from, the first cause first: types and traces, without any message.

    A message quotes values: a KeyError its key, PostgreSQL the row that broke a constraint. Of a database error the
    SQLSTATE and the constraint's name are told instead.
    """
    parts: list[str] = []
    at: BaseException | None = error
    while at is not None and len(parts) < LONGEST_CHAIN:
        frames = "".join(traceback.format_list(traceback.extract_tb(at.__traceback__)))
        parts.append(f"{frames}{type(at).__module__}.{type(at).__qualname__}{_of_database(at)}")
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "\nwhich led to:\n".join(reversed(parts))


def log_thread(ended: threading.ExceptHookArgs) -> None:
    """Log that an exception ended a thread: as threading.excepthook, which else prints it as it stands."""
    name = ended.thread.name if ended.thread else "unknown"
    log.error("The thread %s ended with an exception", name, exc_info=ended.exc_value)


def _of_database(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    constraint = getattr(getattr(error, "diag", None), "constraint_name", None)
    told = " ".join(str(part) for part in (state, constraint) if part)
    return f" ({told})" if told else ""
