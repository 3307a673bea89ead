"""Read the files of an OpenAPI document, and resolve the references between them."""

import codecs
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote, urldefrag, urljoin

import yaml

from registry.imports.openapi.yaml_values import MAX_DEPTH, OnRepeated, TooManyValues, UnsafeYaml, parse_yaml

# Of all files of a document together, with every alias of YAML expanded. A reference that is followed also counts as
# one.
MAX_VALUES = 5_000_000
TOO_MANY = f"The document has more than {MAX_VALUES:,} values with its other files. Send a part of it."

# What neither a database nor UTF-8 can hold: halves of surrogate pairs, and the character 0.
_NO_TEXT = re.compile("[\ud800-\udfff\0]")
_MAYBE_NO_TEXT = re.compile(r"\\(?:u[dD][89a-fA-F]|u0000|U0000[dD][89a-fA-F]|U00000000|x00|0)")
_INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
MAX_REPEATED = 20  # repeated keys that the report names
MAX_HOPS = 30  # references that refer to references
Loader = Callable[[str], bytes]  # the content of the file at an address; may raise any error with a message


class InvalidDocument(Exception):
    """A file is not an OpenAPI document. The message says what to send."""


class DocumentTooLarge(InvalidDocument):
    """The files of a document have more values together than the limit."""


@dataclass(slots=True)
class ValueBudget:
    """How many values may still be read from the files of one document, and the keys that an object in them repeats."""

    left: int = MAX_VALUES
    repeated: dict[str, None] = field(default_factory=dict)

    def take(self) -> None:
        """Count one more value. Raises DocumentTooLarge."""
        self.left -= 1
        if self.left < 0:
            raise DocumentTooLarge(TOO_MANY)

    def _keep(self, key: str, earlier: Any, later: Any) -> Any:
        """Return the value of a key that an object has twice: both path items together, else the later one.

        Repeated operations of one path are kept like other keys: the later one.
        """
        if key.startswith("/") and isinstance(earlier, dict) and isinstance(later, dict):
            both = {**earlier, **later}
            lost = [name for name in earlier if name in later and earlier[name] != later[name]]
            for name in lost:
                if name == "parameters" and isinstance(earlier[name], list) and isinstance(later[name], list):
                    both[name] = [*earlier[name], *later[name]]
                else:
                    self._note(f"{name} of {key}")
            return both
        if earlier != later:
            self._note(key)
        return later

    def _note(self, key: str) -> None:
        if len(self.repeated) < MAX_REPEATED:
            self.repeated[key] = None

    def read_file(self, raw: bytes) -> Any:
        """Return the value of a JSON or YAML file, with text as the keys of all objects. Raises InvalidDocument.

        Characters that are not text are replaced, as in the UTF-8 of browsers.
        """
        try:
            text = raw.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError:
            raise InvalidDocument("The document is not UTF-8. Save it as JSON or YAML in UTF-8.") from None
        try:
            value = _parse_text(text, self.left, self._keep)
            self.left -= _count_values(value, self.left)
        except TooManyValues:
            raise DocumentTooLarge(TOO_MANY) from None
        return _replace_no_text(value) if _MAYBE_NO_TEXT.search(text) or "\0" in text else value


def _parse_text(text: str, most: int, keep: OnRepeated) -> Any:
    try:
        return _parse_json(text, keep)
    except RecursionError:
        raise InvalidDocument(f"The document is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            problem, line = getattr(error, "msg", str(error)), getattr(error, "lineno", 0)
            place = f" at line {line}" if line else ""
            raise InvalidDocument(f"The document is not JSON: {problem}{place}.") from None
    return _read_yaml(text, most, keep)


def _parse_json(text: str, keep: OnRepeated) -> Any:
    options: dict[str, Any] = {
        "parse_constant": _refuse_constant,
        "parse_float": _read_float,
        "object_pairs_hook": partial(_build_object, keep=keep),
    }
    try:
        return json.loads(text, **options)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more digits than Python reads: nothing can check such a number
        return json.loads(text, **options, parse_int=_read_integer)


def _build_object(pairs: list[tuple[str, Any]], *, keep: OnRepeated) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        members = {}
        for key, value in pairs:
            members[key] = keep(key, members[key], value) if key in members else value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a value", "", 0)


def _read_float(text: str) -> float | str:
    return number if math.isfinite(number := float(text)) else text


def _read_integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _read_yaml(text: str, most: int, keep: OnRepeated) -> Any:
    try:
        return parse_yaml(text, most=most, on_repeated=keep)
    except UnsafeYaml as error:
        raise InvalidDocument(str(error)) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise InvalidDocument(f"The document is neither JSON nor YAML{place}. Send one of them.") from None


def _count_values(value: Any, most: int) -> int:
    """Return how many values there are. Raises TooManyValues, or InvalidDocument for more levels than a walk takes."""
    count, level, depth = 0, [value], 0
    while level:
        count += len(level)
        if count > most:
            raise TooManyValues
        if depth > MAX_DEPTH:
            raise InvalidDocument(f"The document is nested more than {MAX_DEPTH} levels deep. Use fewer levels.")
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                below += each
        level, depth = below, depth + 1
    return count


def _replace_no_text(value: Any) -> Any:
    if isinstance(value, str):
        return _NO_TEXT.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_no_text(each) for each in value]
    if isinstance(value, dict):
        return {_replace_no_text(name): _replace_no_text(each) for name, each in value.items()}
    return value


class DanglingReference(Exception):
    """A reference has no target. The message says which."""


class OtherHost(Exception):
    """A reference leads to a host that must not be called. The message names it. What needs the file is refused.

    A loader raises it. Nothing replaces such a file: its content is known once somebody allows the host.
    """


class Located(NamedTuple):
    """A value of the document, and the address of the file that it is in."""

    value: Any
    url: str


class References:
    """The files of a document. Others are loaded when something refers to them."""

    def __init__(self, document: Any, url: str, load: Loader | None, budget: ValueBudget) -> None:
        self._files: dict[str, Any] = {urldefrag(url).url: document}
        self._budget = budget
        self._failures: dict[str, str] = {}
        self._load = load

    def locate(self, ref: str, url: str) -> str:
        """Return the whole address of a reference in a file. Each costs a value of the budget: many can lead to one."""
        self._budget.take()
        try:
            return ref if url == "" else urljoin(url, ref)
        except ValueError:  # such as a bracket in the host
            raise DanglingReference(f"Its reference {ref[:100]} is not an address.") from None

    def resolve(self, ref: str, url: str) -> Located:
        """Return the target of a reference. Raises DanglingReference or OtherHost."""
        try:
            address, pointer = urldefrag(self.locate(ref, url))
        except ValueError:
            raise DanglingReference(f"Its reference {ref[:100]} is not an address.") from None
        value = self._get_file(address)
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
                value = value[int(key)]
            else:
                raise DanglingReference(f"Its reference {ref[:100]} has no target.")
        return Located(value, address)

    def follow(self, value: Any, url: str) -> Located:
        """Return the value itself, or what it refers to, also through several references."""
        located = Located(value, url)
        for _ in range(MAX_HOPS):
            ref = located.value.get("$ref") if isinstance(located.value, dict) else None
            if not isinstance(ref, str):
                return located
            located = self.resolve(ref, located.url)
        raise DanglingReference(f"Its reference {str(value.get('$ref'))[:100]} leads back to itself.")

    def _get_file(self, address: str) -> Any:
        if address not in self._files:
            if address in self._failures:
                raise DanglingReference(self._failures[address])
            try:
                if self._load is None:
                    raise InvalidDocument("which was not sent with the document.")
                self._files[address] = self._budget.read_file(self._load(address))
            except (OtherHost, DocumentTooLarge):
                raise
            except Exception as error:  # the loader's errors are its own; each has a message
                self._failures[address] = f"It refers to another file, {address[:100]}: {error}"
                raise DanglingReference(self._failures[address]) from None
        return self._files[address]
