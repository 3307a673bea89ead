"""The example domains in a folder of the test, and a way to run their handlers without the gateway."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.database.deadlines import Deadline
from core.handler_contract import OpOutcome, OpRefusal, OpRequest
from demo import load
from demo.manifest import HANDLERS

COPY = load.read_copy()
AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
_SCHEMAS = {op["tool_name"]: op["parameters_schema"] for op in COPY["ops"]}


def create_data(settings: Any, var_folder: Path) -> Path:
    """Create files and rows below a folder that takes the place of var/, and return the folder of the files."""
    settings.VAR_DIR = var_folder
    load.create_files()
    load.create_rows(AT)
    return var_folder / "examples" / "files"


def build_example_request(tool_name: str, args: dict[str, Any], *, milliseconds: int = 10_000) -> OpRequest:
    """Return a request with the defaults of its args."""
    properties = _SCHEMAS[tool_name]["properties"]
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    return OpRequest("", defaults | args, AT, Deadline.after(milliseconds=milliseconds))


def respond(tool_name: str, args: dict[str, Any], **options: Any) -> OpOutcome:
    """Prepare and apply, as for a call that is not a dry run."""
    handler, request = HANDLERS[tool_name], build_example_request(tool_name, args, **options)
    return handler.apply(replace(request, prepared=handler.prepare(request)) if handler.prepare else request)


def run(tool_name: str, **args: Any) -> dict[str, Any]:
    return respond(tool_name, args).result


def check(tool_name: str, **args: Any) -> None:
    """Prepare a call, which is all that a dry run does."""
    handler = HANDLERS[tool_name]
    assert handler.prepare
    handler.prepare(build_example_request(tool_name, args))


def find_field_error(refusal: OpRefusal) -> tuple[str, str]:
    """Return the path and code of the only field error."""
    [problem] = refusal.field_errors
    return problem.path, problem.code
