"""Function lists as providers take them: a file's text into named functions, each apart from what is wrong with it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_NAME = 200
MAX_DEPTH = 64  # of one function as JSON; schemas may be nested far less deep, which registry.schemas says better

_LISTS = ("tools", "functions")  # what a document that is an object calls its list
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class Format(StrEnum):
    """Whose form a document has."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


_PARAMETERS = {Format.OPENAI: "parameters", Format.ANTHROPIC: "input_schema"}


class BadDocument(Exception):
    """The file cannot be read as a list of functions; the text says what to send. Nothing was imported."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function as its list has it; `parameters` may be anything yet."""

    name: str
    description: str
    parameters: Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that cannot be served, by name or place in the list, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds. `text` is the list in compact JSON, as a model would be handed it."""

    functions: list[Function]
    refusals: list[Refusal]
    text: str


def read(raw: bytes, form: Format) -> Document:
    """Return the functions of a file: a JSON list, an object with `tools` or `functions`, or one function a line.

    Raises BadDocument. What is wrong with one function alone is a refusal of that function.
    """
    items = _items(raw)
    functions: dict[str, Function] = {}
    refusals: list[Refusal] = []
    said: list[Any] = []
    for place, item in enumerate(items, start=1):
        found = _function(item, form, f"function {place}")
        if isinstance(found, Function) and found.name in functions:
            found = Refusal(found.name, "Another function of the file has this name; the first one counts.")
        if isinstance(found, Refusal):
            refusals.append(found)
        else:
            functions[found.name] = found
            said.append(item)
    if not functions:
        why = f" {refusals[0].name}: {refusals[0].reason}" if refusals else ""
        raise BadDocument(f"The file holds no function that can be read as {form}.{why}")
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
        raise BadDocument("The file must hold a list of functions, or an object whose tools are one.")
    return document


def _item(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return Refusal(_named(text), f"It is not JSON: {error.msg}.")
    except RecursionError:
        return Refusal(_named(text), "It is nested too deeply to be read. Make it flatter.")


def _named(text: str) -> str:
    """Return the name of a function that cannot be read, as far as its text shows one."""
    found = re.search(r'"name"\s*:\s*"([^"\\]{1,100})"', text)
    return found[1] if found else "a function"


def _parts(text: str) -> Iterator[str]:
    """Yield the text of each item of the outermost list, without reading what is nested in it."""
    depth, base, start = 0, 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            base = base or (depth if token[0] == "[" else 0)  # the list may lie in an object
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
        reason = f"Its name is longer than {MAX_NAME} characters, or holds some that cannot be printed."
        return Refusal(name[:80], reason)
    if "type" in item and item["type"] not in ("function", "custom") and _PARAMETERS[form] not in said:
        return Refusal(name, f"It is a tool of the provider ({str(item['type'])[:40]}), not a function with arguments.")
    for other, key in _PARAMETERS.items():
        if other is not form and key in said and _PARAMETERS[form] not in said:
            return Refusal(name, f"It has {key}, as {other} writes it. Import the file with --format {other}.")
    description = said.get("description")
    text = description if isinstance(description, str) else ""
    return Function(name, text, said.get(_PARAMETERS[form]))


def _said(item: dict[str, Any]) -> dict[str, Any]:
    """Return what holds a function's name: the item, or what Chat Completions wraps in it."""
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
