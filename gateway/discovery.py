"""help: answer a query from the caller's release, limited to the ops the caller may run."""

from typing import Any

import orjson

from analytics import events
from analytics.models import OperationEvent
from core import logs
from core.kept import kept
from gateway import bodies, recording, serving
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import FieldError, Invalid, Missing
from gateway.normalise import whole_numbers
from gateway.validation import field_errors
from registry import help
from registry.catalogs import Catalog
from registry.help import HelpAnswer, HelpQuery

_BOOLEANS = {"true": True, "false": False}


def ask(*, body: dict[str, Any], caller: Caller, trace: Trace, catalog: Catalog | None = None) -> HelpAnswer:
    """Return the answer to a help body and record the event. A batch entry passes the catalog of its release.

    Raises Invalid for a malformed body, Missing for a path that does not exist or that the caller may not see.
    """
    catalog = catalog or serving.catalog(caller.served)
    trace.release = catalog.version
    logs.release.set(catalog.version)
    query = _query(body)
    try:
        answer = help.answer(catalog, query, caller.visibility)
    except help.UnknownPath as error:
        raise Missing(
            str(error),
            reason="unknown_path" if query.arg is None else "unknown_argument",
            help_path=error.help_path,
            details={"did_you_mean": error.did_you_mean} if error.did_you_mean else None,
        ) from None
    except help.BadQuery as error:
        problem = FieldError(f"/{error.field}", "invalid", str(error))
        raise Invalid(str(error), reason="malformed_call", field_errors=[problem]) from None
    op = catalog.ops.get(answer.path)
    events.later(
        recording.event(
            kind_of(body),
            caller=caller,
            trace=trace,
            op=op,
            name=answer.path,
            release=catalog.version,
            format=_format(query) if op else "",
            result_count=answer.result_count,
            digest=recording.digest(caller, "help", body),
        )
    )
    return answer


def _format(query: HelpQuery) -> str:
    """Return the format of an op's help for the event: short, full or arg."""
    return OperationEvent.Format.ARG if query.arg is not None else query.format


def kind_of(body: dict[str, Any]) -> OperationEvent.Type:
    """Return the event type of a help body: search if it has a query, else help."""
    return OperationEvent.Type.SEARCH if "query" in body else OperationEvent.Type.HELP


def from_parameters(parameters: dict[str, list[str]]) -> dict[str, Any]:
    """Return URL parameters as a help body. Raises Invalid for a repeated parameter or a NUL character."""
    if any("\x00" in text for name, values in parameters.items() for text in (name, *values)):
        raise Invalid("A parameter holds a NUL character. Leave it out.", reason="nul_character")
    twice = [name for name, values in parameters.items() if len(values) > 1]
    if twice:
        problems = [FieldError(f"/{name}"[:200], "duplicate_key", "Send it once.") for name in twice]
        raise Invalid("A parameter is repeated. Send each once.", reason="duplicate_key", field_errors=problems)
    return {name: _typed(name, values[0]) for name, values in parameters.items()}


def _typed(name: str, text: str) -> Any:
    kind = bodies.HELP["properties"].get(name, {}).get("type")
    if kind == "boolean":
        return _BOOLEANS.get(text, text)
    if kind == "integer" and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text


def _query(body: dict[str, Any]) -> HelpQuery:
    return _checked(orjson.dumps(body))  # as text, because 1, 1.0 and True are equal as cache keys


@kept
def _checked(text: bytes) -> HelpQuery:
    body = orjson.loads(text)
    errors = field_errors(bodies.help_validator(), bodies.HELP, body)
    if "path" in body and "query" in body:
        errors.append(FieldError("/query", "conflict", "Send path or query, not both."))
    if errors:
        raise Invalid(
            f"The help request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    return HelpQuery(**whole_numbers(bodies.HELP, body))
