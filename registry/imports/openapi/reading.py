"""Read a file of an OpenAPI document: JSON, or the part of YAML that JSON can say."""

import json
import re
from typing import Any

import yaml

MAX_DEPTH = 200  # of nested objects and lists
MAX_ALIASED = 1_000_000  # values that aliases may stand for


class InvalidDocument(Exception):
    """A file is no OpenAPI document. The message says what to send."""


class _Loader(yaml.CSafeLoader):
    """A loader that keeps dates, yes and no as text: JSON has no dates, and OpenAPI's YAML is JSON."""


_KEPT_TAGS = ("null", "int", "float", "merge")
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in _KEPT_TAGS]
    for letter, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(?:true|True|TRUE|false|False|FALSE)$"), [*"tTfF"])


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
            problem = getattr(error, "msg", str(error))
            raise InvalidDocument(
                f"The document is not JSON: {problem} at line {getattr(error, 'lineno', 1)}."
            ) from None
    return _read_yaml(text)


def _read_yaml(text: str) -> Any:
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
        if _count_values(value) > MAX_ALIASED:
            raise InvalidDocument("The document's YAML aliases stand for too much. Write it without them.")
        return _convert_keys(value)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise InvalidDocument(f"The document is neither JSON nor YAML{place}. Send one of them.") from None
    except RecursionError:
        raise InvalidDocument(f"The document is nested more than {MAX_DEPTH} levels deep.") from None


def _count_values(value: Any) -> int:
    """Return how many values there are if each alias is written out, at most MAX_ALIASED + 1."""
    counts: dict[int, int] = {}
    in_progress: set[int] = set()

    def count(item: Any, depth: int) -> int:
        if not isinstance(item, dict | list):
            return 1
        if id(item) in counts:
            return counts[id(item)]
        if id(item) in in_progress or depth > MAX_DEPTH:
            raise RecursionError
        in_progress.add(id(item))
        children = item.values() if isinstance(item, dict) else item
        total = 1 + sum(count(child, depth + 1) for child in children)
        in_progress.remove(id(item))
        counts[id(item)] = min(total, MAX_ALIASED + 1)
        return counts[id(item)]

    return count(value, 0)


def _convert_keys(value: Any) -> Any:
    """Return the value with text as keys: YAML reads the status codes of responses as numbers."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): _convert_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_convert_keys(item) for item in value]
    return value
