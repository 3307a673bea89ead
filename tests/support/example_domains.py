"""The example domains in a folder of the test, and a way to run their handlers without the API."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.database.deadlines import Deadline
from gateway.contracts.errors import GatewayError
from gateway.demo.domains import load
from gateway.executors import EXECUTORS
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.catalog.builder import build_catalog
from registry.catalog.model import FULL_VISIBILITY
from registry.models import Connection

COPY = load.read_copy()
CATALOG = build_catalog("v" * 64, COPY)
AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
executor = EXECUTORS[Connection.Kind.EXAMPLE]


def create_data(settings: Any, var_folder: Path) -> Path:
    """Create files and rows below a folder that takes the place of var/, and return the folder of the files."""
    settings.VAR_DIR = var_folder
    load.create_files()
    load.create_rows(AT)
    return var_folder / "examples" / "files"


def build_example_call(tool_name: str, args: dict[str, Any], *, milliseconds: int = 10_000) -> UpstreamCall:
    """Return a call with the defaults of its args."""
    op = CATALOG.find_op(tool_name)
    assert op
    defaults = {name: schema["default"] for name, schema in op.arguments.items() if "default" in schema}
    return UpstreamCall(
        op=op,
        catalog=CATALOG,
        visibility=FULL_VISIBILITY,
        args=defaults | args,
        subject="",
        at=AT,
        deadline=Deadline.after(milliseconds=milliseconds),
    )


def respond(tool_name: str, args: dict[str, Any]) -> UpstreamResponse:
    """Prepare and apply, as for a call that is not a dry run."""
    work = build_example_call(tool_name, args)
    return executor.apply(work, executor.prepare(work))


def run(tool_name: str, **args: Any) -> dict[str, Any]:
    """Run an op and return its result."""
    return respond(tool_name, args).result


def check(tool_name: str, **args: Any) -> None:
    """Prepare a call, which is all that a dry run does."""
    executor.prepare(build_example_call(tool_name, args))


def find_field_error(error: GatewayError) -> tuple[str, str]:
    """Return the path and code of the only field error."""
    [problem] = error.field_errors
    return problem.path, problem.code
