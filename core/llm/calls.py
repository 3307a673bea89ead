"""Calls of tools in answers: in the pieces of a stream, and written as text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from core.llm.markup import NAMED_CALLS
from core.text import json_text

Tools = Sequence[Mapping[str, Any]]  # function tools of Chat Completions
NAMES, ARGUMENTS = ("name", "tool_name", "function", "tool"), ("arguments", "parameters", "args", "input")
_CALL_BEGIN = re.compile(r"<(?:function=|invoke name=\"?)(?P<name>[\w.\-]{1,200})\"?>")
_CALL_END = re.compile(r"</(?:function|invoke)>")
_PARAMETER_BEGIN = re.compile(r"<parameter(?:=| name=\"?)(?P<name>[\w.\-]{1,200})\"?[^<>]{0,200}>")
_PARAMETER_END = re.compile(r"</parameter>")
_WORD = re.compile(r"[\w-]+")
_SPACES = re.compile(r"[\s\\]+")


@dataclass(frozen=True, slots=True, repr=False)  # no repr: an answer must not end up in logs
class StreamedCall:
    """A tool that the model calls. `arguments` is JSON, or whatever the model wrote instead."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True, repr=False)
class CallPieces:
    """One call, put together from its pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def begins_another(self, id: str, name: str, arguments: str) -> bool:
        """Whether a piece at the same place belongs to another call: some servers count all calls as the first."""
        if id and self.id and id != self.id:
            return True
        if not name or id or not is_json(self.join_arguments()):
            return False
        return name != self.name or not _repeats(arguments, self.join_arguments())

    def add(self, id: str, name: str, arguments: str) -> None:
        """Add a piece. Some servers repeat the name with each."""
        self.id = self.id or id
        if name != self.name:
            self.name += name
        if arguments:
            self.arguments.append(arguments)

    def join_arguments(self) -> str:
        """Return the arguments. Some servers send all of them again with each piece, or with the last one."""
        whole = "".join(self.arguments)
        if len(self.arguments) < 2 or is_json(whole):
            return whole
        *before, last = self.arguments
        is_repeated = last == "".join(before) or all(last.startswith(each) for each in before)
        return last if is_repeated and is_json(last) else whole


class CallCollector:
    """The calls of one answer. Pieces are found by index, by id, or are of the last call."""

    def __init__(self) -> None:
        self.calls: list[CallPieces] = []
        self._by_index: dict[Any, CallPieces] = {}

    def add(self, index: Any, id: str, name: str, arguments: str) -> None:
        """Add a piece of a call."""
        current = self._find(index, id, name)
        if current is None or current.begins_another(id, name, arguments):
            current = CallPieces()
            self.calls.append(current)
        if index is not None:
            self._by_index[index] = current
        current.add(id, name, arguments)

    def _find(self, index: Any, id: str, name: str) -> CallPieces | None:
        if index is not None:
            return self._by_index.get(index)
        if id:
            return next((each for each in self.calls if each.id == id), None if name else self._get_last())
        return self._get_last()

    def _get_last(self) -> CallPieces | None:
        return self.calls[-1] if self.calls else None

    def build_calls(self) -> tuple[StreamedCall, ...]:
        """Return the calls in order, each with an id of its own. Without a name it is not a call."""
        calls, ids = list[StreamedCall](), set[str]()
        for each in self.calls:
            if each.name.strip():
                id = each.id if each.id and each.id not in ids else create_call_id()
                ids.add(id)
                calls.append(StreamedCall(id, each.name.strip(), each.join_arguments()))
        return tuple(calls)


def create_call_id() -> str:
    """Return an id for a call that has none, or that of another call."""
    return f"call_{uuid4().hex[:16]}"


def is_json(text: str) -> bool:
    """Whether a text is strict JSON, as the gateway takes it."""
    try:
        json_text.parse(text.encode("utf-8", "surrogatepass"))
    except json_text.NotStrictJSON:
        return False
    return True


def _repeats(piece: str, whole: str) -> bool:
    return not piece or piece.startswith(whole)


def parse_written_calls(blocks: Sequence[str], tools: Tools) -> tuple[StreamedCall, ...]:
    """Return the calls that a model wrote as text; none of them if one is incomplete or names another tool."""
    schemas = {str(each["function"]["name"]): each["function"].get("parameters") or {} for each in tools}
    calls = list[StreamedCall]()
    for block in blocks:
        block_calls = list(_parse_block(block, schemas))
        if not block_calls:
            return ()
        for call in block_calls:
            if call is None:
                return ()
            name, args = call
            calls.append(StreamedCall(create_call_id(), name, json.dumps(args, ensure_ascii=False)))
    return tuple(calls)


def is_quoted(block: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a block stands in a message already, such as a document that the model has read. That is not a call."""
    wanted = _squeeze(block)[1:-1]
    return bool(wanted) and any(wanted in _squeeze(each.get("content")) for each in messages)


def _squeeze(content: Any) -> str:
    """Return a text without what differs if it stands in JSON: spaces, and the backslashes of each level."""
    return _SPACES.sub("", json.dumps(content, ensure_ascii=False))


Call = tuple[str, dict[str, Any]]


def _parse_block(block: str, schemas: Mapping[str, Any]) -> Iterator[Call | None]:
    """Yield each call of a block, None for one that cannot be read."""
    if any(mark in block for mark in NAMED_CALLS):
        wrapped, rest = _split_elements(block, _CALL_BEGIN, _CALL_END)
        for name, body in wrapped:
            yield _parse_wrapped(name, body, schemas)
        if not wrapped or "<" in rest:
            yield None
        return
    decoder, start = json.JSONDecoder(), 0
    while (at := block.find("{", start)) >= 0:
        try:
            value, end = decoder.raw_decode(block, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield _read_call(value, before=block[start:at], schemas=schemas)
        start = end


def _read_call(value: Any, *, before: str, schemas: Mapping[str, Any]) -> Call | None:
    """Return the call of an object: it names the tool and has its arguments, or the name stands before it."""
    if not isinstance(value, dict):
        return None
    if isinstance(function := value.get("function"), dict):
        value = function
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), "")
    arguments = next((value[key] for key in ARGUMENTS if key in value), None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    if name in schemas and isinstance(arguments, dict):
        return name, arguments
    words = set(_WORD.findall(before))
    names = [each for each in schemas if each in words]
    return (names[0], value) if len(names) == 1 else None


def _parse_wrapped(name: str, body: str, schemas: Mapping[str, Any]) -> Call | None:
    if name not in schemas:
        return None
    if body.strip().startswith("{"):
        try:
            value = json.loads(body)
        except ValueError:
            return None
        return (name, value) if isinstance(value, dict) else None
    parameters, rest = _split_elements(body, _PARAMETER_BEGIN, _PARAMETER_END)
    if rest.strip():
        return None
    properties = schemas[name].get("properties") or {}
    return name, {each: _read_value(value.strip("\n"), properties.get(each)) for each, value in parameters}


def _split_elements(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> tuple[list[tuple[str, str]], str]:
    """Return name and body of each element, and the text between them. An element without an end is such text."""
    elements, between, at = list[tuple[str, str]](), list[str](), 0
    while (opening := begin.search(text, at)) and (closing := end.search(text, opening.end())):
        elements.append((opening["name"], text[opening.end() : closing.start()]))
        between.append(text[at : opening.start()])
        at = closing.end()
    return elements, "".join(between) + text[at:]


def _read_value(text: str, schema: Any) -> Any:
    if isinstance(schema, dict) and schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
