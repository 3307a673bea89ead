"""Build JSON values from YAML 1.2 text, in bounded time and memory.

PyYAML's own loader follows YAML 1.1: it makes a date of 2024-01-01, true of `on`, and numbers of keys such as 200.
It also overflows the C stack on deep nesting. This module builds values from the parser's events, without recursion.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_DEPTH = 200

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,4300}")  # as many digits as Python reads; more are text
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Of a schema whose type is string, these are texts, as they stand in the file: 1.10 and 08 are versions, not numbers.
_VALUE_KEYS = frozenset(("enum", "const", "default", "example", "examples"))
_TEXT_TYPES = ("string", ["string"], ["string", "null"], ["null", "string"])
_MERGE_KEY = "<<"
_TAG = "tag:yaml.org,2002:"
_RESOLVED_TAGS = frozenset(_TAG + name for name in ("int", "float", "bool", "null"))


class UnsafeYaml(Exception):
    """The text is nested too deeply, or an alias or a key in it cannot be read. The message says so."""


class TooManyValues(Exception):
    """There are more values than the limit, counted with every alias expanded."""


@dataclass(slots=True)
class _Container:
    """A list or an object that is being built. `size` counts the values in it, with aliases expanded."""

    value: list[Any] | dict[str, Any]
    anchor: str | None = None
    key: str | None = None
    size: int = 1
    most: int = 0  # values that it may have
    merged: list[dict[str, Any]] = field(default_factory=list)
    written: dict[Any, Any] = field(default_factory=dict)  # values that were read from another text, as written
    on_repeated: "OnRepeated | None" = None

    def add(self, value: Any, size: int, written: Any = None) -> None:
        """Add a value. `written` is its text in the file, or those of its items, if the values are not texts."""
        self.size += size
        if self.size > self.most:
            raise TooManyValues
        if isinstance(self.value, list):
            if written is not None:
                self.written[len(self.value)] = written
            self.value.append(value)
        elif self.key is None:
            raise UnsafeYaml("A key in the file is not text. Use text as keys.")
        elif self.key == _MERGE_KEY and isinstance(value, dict | list):
            self.merged += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
            self.key = None
        else:
            if self.key in self.value and self.on_repeated:
                value = self.on_repeated(self.key, self.value[self.key], value)
            if written is not None and self.key in _VALUE_KEYS:
                self.written[self.key] = written
            self.value[self.key] = value
            self.key = None

    def restore_texts(self) -> None:
        """Replace what was read as numbers by its text, in a schema whose type is string."""
        if not self.written or not isinstance(self.value, dict) or self.value.get("type") not in _TEXT_TYPES:
            return
        for key, written in self.written.items():
            if isinstance(written, dict):
                for index, text in written.items():
                    self.value[key][index] = text
            else:
                self.value[key] = written

    def merge_objects(self) -> None:
        """Add the members that `<<` refers to. Own members win, then earlier objects."""
        if isinstance(self.value, dict) and self.merged:
            value: dict[str, Any] = {}
            for other in reversed(self.merged):
                value |= other
            self.value = value | self.value


# Called with a key that an object has twice, its earlier value and the later one; returns the value to keep.
OnRepeated = Callable[[str, Any, Any], Any]


def parse_yaml(text: str, *, most: int, on_repeated: OnRepeated | None = None) -> Any:
    """Return the first document of a YAML text as a JSON value.

    Raises UnsafeYaml, TooManyValues, yaml.YAMLError or ValueError.
    """
    root = _Container([], most=most)
    stack = [root]
    anchors: dict[str, tuple[Any, int]] = {}
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        top = stack[-1]
        if isinstance(event, yaml.ScalarEvent):
            _add_scalar(top, event, anchors)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) > MAX_DEPTH:
                raise UnsafeYaml(f"The file is nested more than {MAX_DEPTH} levels deep. Use fewer levels.")
            value: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
            stack.append(_Container(value, event.anchor, most=most, on_repeated=on_repeated))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = stack.pop()
            done.restore_texts()
            done.merge_objects()
            stack[-1].add(
                done.value, done.size, done.written if isinstance(done.value, list) and done.written else None
            )
            if done.anchor:
                anchors[done.anchor] = (done.value, done.size)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:  # an alias inside its own anchor would never end
                raise UnsafeYaml(f"The alias {event.anchor} has no earlier anchor. Write the value in full.")
            top.add(*anchors[event.anchor])
        elif isinstance(event, yaml.DocumentEndEvent):
            break
    return root.value[0] if isinstance(root.value, list) and root.value else None


def _add_scalar(top: _Container, event: yaml.ScalarEvent, anchors: dict[str, tuple[Any, int]]) -> None:
    if isinstance(top.value, dict) and top.key is None:
        top.key = event.value  # as written: 200, on and 1.10 are text
        return
    is_plain = event.implicit[0] and event.style in (None, "")
    value = _resolve_scalar(event.value) if is_plain or event.tag in _RESOLVED_TAGS else event.value
    top.add(value, 1, None if value is None or isinstance(value, str) else event.value)
    if event.anchor:
        anchors[event.anchor] = (value, 1)


def _resolve_scalar(text: str) -> Any:
    """Return the value of a plain scalar by the core schema of YAML 1.2."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
