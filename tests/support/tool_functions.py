"""Lists of functions as providers take them, made of a few words."""

import json
from typing import Any

from registry.imports import openai, run_import
from registry.imports.openai import FunctionList, ProviderFormat


def function(name: str, description: str = "", /, **parameters: Any) -> dict[str, Any]:
    """Return one function in the form of OpenAI; keywords are its parameters' own, such as properties."""
    schema = {"type": "object", "properties": {}} | parameters
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def document(*functions: Any) -> FunctionList:
    """Return the document that a file of these functions is read as."""
    return openai.parse_functions(json.dumps(list(functions)).encode(), ProviderFormat.OPENAI)


def run(*functions: Any, group: str = "crm") -> run_import.ImportResult:
    """Import these functions below a group."""
    return run_import.import_functions(document(*functions), group=group)
