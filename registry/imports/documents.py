"""Parse a list of functions in a provider's format. A problem with one function does not affect the others."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_NAME = 200
MAX_DEPTH = 64  # of one function as JSON; the limit for schemas is lower

_LISTS = ("tools", "functions")  # keys of the list in a document that is an object
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class Format(StrEnum):
    """The provider whose format a document has."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


_PARAMETERS = {Format.OPENAI: "parameters", Format.ANTHROPIC: "input_schema"}


class BadDocument(Exception):
    """The file cannot be read as a list of functions. The message says what to send."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the list. `parameters` is not validated yet."""

    name: str
    description: str
    parameters: Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that cannot be imported: its name or position in the list, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file. `text` is the list in compact JSON, as a model would get it."""

    functions: list[Function]
    refusals: list[Refusal]
    text: str


def read(raw: bytes, form: Format) -> Document:
    """Return the functions of a file: a JSON list, an object with `tools` or `functions`, or one function per line.

    Raises InvalidFunctionList. A problem with one function is returned as a refusal.
    """
    items = _items(raw)
    functions: dict[str, Function] = {}
    refusals: list[Refusal] = []
    said: list[Any] = []
    for place, item in enumerate(items, start=1):
        found = _function(item, form, f"function {place}")
        if isinstance(found, Function) and found.name in functions:
            found = Refusal(found.name, "An earlier function in the file has the same name.")
        if isinstance(found, Refusal):
            refusals.append(found)
        else:
            functions[found.name] = found
            said.append(item)
    if not functions:
        why = f" {refusals[0].name}: {refusals[0].reason}" if refusals else ""
        raise BadDocument(f"The file has no function in the {form} format.{why}")
    return Document(list(functions.values()), refusals, json.dumps(said, ensure_ascii=False, separators=(",", ":")))


def _items(raw: bytes) -> list[Any]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadDocument("The file is not UTF-8. Save it as JSON in UTF-8.") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if error.msg != "Extra data" or len(lines) < 2:
            raise BadDocument(f"The file is not JSON: {error.msg} at line {error.lineno}.") from None
        return list(map(_item, lines))
    except RecursionError:
        return [_item(part) for part in _parts(text)]
    while isinstance(document, dict):
        document = next((document[key] for key in _LISTS if key in document), [document])
    if not isinstance(document, list):
        raise BadDocument("The file must have a list of functions, or an object with such a list in `tools`.")
    return document


def _item(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return Refusal(_named(text), f"It is not JSON: {error.msg}.")
    except RecursionError:
        return Refusal(_named(text), "It is nested too deeply. Make it flatter.")


def _named(text: str) -> str:
    """Return the name of an unreadable function, if its text has one."""
    found = re.search(r'"name"\s*:\s*"([^"\\]{1,100})"', text)
    return found[1] if found else "a function"


def _parts(text: str) -> Iterator[str]:
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


def _function(item: Any, form: Format, place: str) -> Function | Refusal:
    if isinstance(item, Refusal):
        return item
    if not isinstance(item, dict):
        return Refusal(place, "It is not an object.")
    if _is_deep(item):
        return Refusal(_own_name(item) or place, f"It is nested more than {MAX_DEPTH} levels deep. Make it flatter.")
    said = _said(item)
    name = _own_name(item)
    if not name.strip():
        return Refusal(place, "It has no name.")
    if len(name) > MAX_NAME or not name.isprintable():
        reason = f"Its name is longer than {MAX_NAME} characters or has non-printable ones."
        return Refusal(name[:80], reason)
    if "type" in item and item["type"] not in ("function", "custom") and _PARAMETERS[form] not in said:
        return Refusal(name, f"It is a provider tool ({str(item['type'])[:40]}), not a function with arguments.")
    for other, key in _PARAMETERS.items():
        if other is not form and key in said and _PARAMETERS[form] not in said:
            return Refusal(name, f"It has {key}, which is the {other} format. Use --format {other}.")
    description = said.get("description")
    text = description if isinstance(description, str) else ""
    return Function(name, text, said.get(_PARAMETERS[form]))


def _said(item: dict[str, Any]) -> dict[str, Any]:
    """Return the object with a function's name: the item, or its `function` in the Chat Completions format."""
    return item["function"] if isinstance(item.get("function"), dict) else item


def _own_name(item: dict[str, Any]) -> str:
    name = _said(item).get("name")
    return name if isinstance(name, str) else ""


def _is_deep(item: Any) -> bool:
    level: list[Any] = [item]
    for _ in range(MAX_DEPTH):
        level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        level = [part for part in level if isinstance(part, dict | list)]
        if not level:
            return False
    return True
