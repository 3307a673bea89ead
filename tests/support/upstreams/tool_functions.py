"""Short ways to build and import lists of functions in the format of providers."""

import json
from typing import Any

from registry.imports import functions as function_source
from registry.imports import openai, run_import
from registry.imports.openai import FunctionList, ProviderFormat


def build_function(name: str, description: str = "", /, **parameters: Any) -> dict[str, Any]:
    """Return one function in OpenAI's format. Keywords go into its parameters, such as properties."""
    schema = {"type": "object", "properties": {}} | parameters
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def parse_document(*functions: Any) -> FunctionList:
    return openai.parse_functions(json.dumps(list(functions)).encode(), ProviderFormat.OPENAI)


def import_functions(*functions: Any, group: str = "crm") -> run_import.ImportResult:
    source = function_source.read_functions(parse_document(*functions), group)
    return run_import.import_ops(source, group=group)
