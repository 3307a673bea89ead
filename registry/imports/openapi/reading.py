"""Read a file of an OpenAPI document: JSON or YAML."""

import json
from typing import Any

import yaml

from registry.imports.openapi.yaml_values import MAX_DEPTH, UnsafeYaml, parse_yaml


class InvalidDocument(Exception):
    """A file is no OpenAPI document. The message says what to send."""


def read_file(raw: bytes) -> Any:
    """Return the value of a JSON or YAML file, with text as the keys of all objects. Raises InvalidDocument."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDocument("The document is not UTF-8. Save it as JSON or YAML in UTF-8.") from None
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidDocument(f"The document is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            problem, line = getattr(error, "msg", str(error)), getattr(error, "lineno", 1)
            raise InvalidDocument(f"The document is not JSON: {problem} at line {line}.") from None
    return _read_yaml(text)


def _read_yaml(text: str) -> Any:
    try:
        return parse_yaml(text)
    except UnsafeYaml as error:
        raise InvalidDocument(str(error)) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise InvalidDocument(f"The document is neither JSON nor YAML{place}. Send one of them.") from None
