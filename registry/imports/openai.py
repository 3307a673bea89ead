"""Parse a list of functions in a provider's format. A problem with one function does not affect the others."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from registry.text import cleanup

MAX_NAME = 200
MAX_DEPTH = 64  # of one function as JSON; the limit for schemas is lower

_LIST_KEYS = ("tools", "functions")  # keys of the list in a document that is an object
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,100})"')


class ProviderFormat(StrEnum):
    """The provider whose format a document has."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


_PARAMETERS_KEY = {ProviderFormat.OPENAI: "parameters", ProviderFormat.ANTHROPIC: "input_schema"}


class InvalidFunctionList(Exception):
    """The file cannot be read as a list of functions. The message says what to send."""


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """One function of the list. `parameters` is not validated yet."""

    name: str
    description: str
    parameters: Any


@dataclass(frozen=True, slots=True)
class RefusedFunction:
    """A function that cannot be imported: its name or position in the list, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class FunctionList:
    """The content of a file. `text` is the list in compact JSON, as a model would get it."""

    functions: list[FunctionDefinition]
    refusals: list[RefusedFunction]
    text: str


def parse_functions(raw: bytes, form: ProviderFormat) -> FunctionList:
    """Return the functions of a file: a JSON list, an object with `tools` or `functions`, or one function per line.

    Raises InvalidFunctionList. A problem with one function is returned as a refusal.
    """
    parsed = collect_functions(_parse_items(raw), form)
    if not parsed.functions:
        first = parsed.refusals[0] if parsed.refusals else None
        reason = f" {first.name}: {first.reason}" if first else ""
        raise InvalidFunctionList(f"The file has no function in the {form} format.{reason}")
    return parsed


def collect_functions(items: Iterable[Any], form: ProviderFormat, *, unit: str = "function") -> FunctionList:
    """Return the functions of a list, and a refusal for each with a problem. `unit` is what the list calls one."""
    functions: dict[str, FunctionDefinition] = {}
    refusals: list[RefusedFunction] = []
    accepted_items: list[Any] = []
    for number, item in enumerate(items, start=1):
        parsed = _parse_function(item, form, f"{unit} {number}")
        if isinstance(parsed, FunctionDefinition) and parsed.name in functions:
            parsed = RefusedFunction(parsed.name, f"An earlier {unit} has the same name.")
        if isinstance(parsed, RefusedFunction):
            refusals.append(parsed)
        else:
            functions[parsed.name] = parsed
            accepted_items.append(item)
    return FunctionList(
        list(functions.values()), refusals, json.dumps(accepted_items, ensure_ascii=False, separators=(",", ":"))
    )


def _parse_items(raw: bytes) -> list[Any]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFunctionList("The file is not UTF-8. Save it as JSON in UTF-8.") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if error.msg != "Extra data" or len(lines) < 2:
            raise InvalidFunctionList(f"The file is not JSON: {error.msg} at line {error.lineno}.") from None
        return list(map(_parse_item, lines))
    except RecursionError:
        return [_parse_item(part) for part in _iter_item_texts(text)]
    while isinstance(document, dict):
        document = next((document[key] for key in _LIST_KEYS if key in document), [document])
    if not isinstance(document, list):
        raise InvalidFunctionList("The file must have a list of functions, or an object with such a list in `tools`.")
    return document


def _parse_item(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return RefusedFunction(_guess_name(text), f"It is not JSON: {error.msg}.")
    except RecursionError:
        return RefusedFunction(_guess_name(text), "It is nested too deeply. Use fewer levels.")


def _guess_name(text: str) -> str:
    """Return the name of an unreadable function, if its text has one."""
    match = _NAME.search(text)
    return match[1] if match else "a function"


def _iter_item_texts(text: str) -> Iterator[str]:
    """Yield the text of each item of the outermost list, without parsing its content."""
    depth, base, start = 0, 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            base = base or (depth if token[0] == "[" else 0)  # the list may be inside an object
            if base and depth == base + 1:
                start = token.start()
        elif token[0] in ("]", "}"):
            if base and depth == base + 1:
                yield text[start : token.end()]
            depth -= 1


def _parse_function(item: Any, form: ProviderFormat, position: str) -> FunctionDefinition | RefusedFunction:
    if isinstance(item, RefusedFunction):
        return item
    if not isinstance(item, dict):
        return RefusedFunction(position, "It is not an object.")
    if _is_too_deep(item):
        return RefusedFunction(
            _get_name(item) or position, f"It is nested more than {MAX_DEPTH} levels deep. Use fewer levels."
        )
    definition = _unwrap_function(item)
    name = _get_name(item)
    if not cleanup.strip_blank(name):
        return RefusedFunction(position, "It has no name.")
    if len(name) > MAX_NAME or not name.isprintable():
        reason = f"Its name is longer than {MAX_NAME} characters or has non-printable ones."
        return RefusedFunction(name[:80], reason)
    if "type" in item and item["type"] not in ("function", "custom") and _PARAMETERS_KEY[form] not in definition:
        return RefusedFunction(
            name, f"It is a provider tool ({str(item['type'])[:40]}), not a function with arguments."
        )
    for other, key in _PARAMETERS_KEY.items():
        if other is not form and key in definition and _PARAMETERS_KEY[form] not in definition:
            return RefusedFunction(name, f"It has {key}, which is the {other} format. Use --format {other}.")
    description = definition.get("description")
    text = description if isinstance(description, str) else ""
    return FunctionDefinition(name, text, definition.get(_PARAMETERS_KEY[form]))


def _unwrap_function(item: dict[str, Any]) -> dict[str, Any]:
    """Return the object with a function's name: the item, or its `function` in the Chat Completions format."""
    return item["function"] if isinstance(item.get("function"), dict) else item


def _get_name(item: dict[str, Any]) -> str:
    name = _unwrap_function(item).get("name")
    return name if isinstance(name, str) else ""


def _is_too_deep(item: Any) -> bool:
    level: list[Any] = [item]
    for _ in range(MAX_DEPTH):
        level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        level = [part for part in level if isinstance(part, dict | list)]
        if not level:
            return False
    return True
