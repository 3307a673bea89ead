"""What a tool answered, as the result of a call: structured content, else its texts; files are stored."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from core.text.decoding import REPLACEMENT
from core.text.lenient_json import BAD_CHARACTER, LenientReader, UnreadableJSON, looks_like_json
from gateway.contracts.errors import GatewayError
from gateway.executors.base import UpstreamCall
from gateway.executors.mcp.sessions.answer_repair import REMARKS
from gateway.executors.remote import result_values
from gateway.executors.remote.result_values import DONE, add_beside, clean_value, find_data, wrap_value
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

StoreFile = Callable[[str, str, str], dict[str, Any]]  # takes name, content type and base64; returns what to answer

MAX_FILES = 10  # of one answer
FILE_BLOCKS = (ImageContent, AudioContent)
LINK_BLOCKS = (ResourceLink, EmbeddedResource)
FILE_TYPES = ("image", "audio")  # of blocks with their content in `data`


@dataclass(frozen=True, slots=True)
class ReadToolResult:
    """A result, and remarks on what is not as the tool answered it."""

    result: dict[str, Any]
    remarks: tuple[str, ...] = ()


def read_result(result: CallToolResult, work: UpstreamCall, redactor: Redactor = NO_SECRETS) -> ReadToolResult:
    """Return the result of a tool that succeeded, without secrets.

    It stores at most ten files: with more, one answer could use up the whole quota of a user. Raises
    PermissionDeniedError if a read reaches that quota; then none of its files stays.
    """
    files: list[dict[str, Any]] = []

    def store_file(name: str, content_type: str, data: str) -> dict[str, Any]:
        content = redactor.redact_bytes(_decode(data))
        name, content_type = redactor.redact_text(name), redactor.redact_text(content_type)
        if len(files) < MAX_FILES:
            files.append(result_values.store_file(work, name, content_type, content))
            return files[-1]
        message = f"The file was not stored: at most {MAX_FILES} files of one answer are stored."
        return result_values.describe_file(name, content_type, content) | {"message": message}

    reader = LenientReader()
    try:
        value: dict[str, Any] = redactor.redact_value(_read_contents(result, store_file, reader))
    except GatewayError:
        result_values.remove_files(file["id"] for file in files if "id" in file)
        raise
    remarks = [*(result.meta or {}).get(REMARKS, ()), *reader.remarks]
    if any(REPLACEMENT in text for text in cleanup.iterate_strings(value)):
        remarks.append(BAD_CHARACTER)  # perhaps replaced on the way, where nobody can remark on it
    return ReadToolResult(value, tuple(dict.fromkeys(remarks)))


def _read_contents(result: CallToolResult, store: StoreFile, reader: LenientReader) -> dict[str, Any]:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if result.structured_content is not None:
        structure = result.structured_content
        value = wrap_value(clean_value(_store_contents(reader.repair(structure), store), reader))
        files = [_describe_block(block, store, reader) for block in result.content if isinstance(block, FILE_BLOCKS)]
        parts = [_describe_block(block, store, reader) for block in result.content if isinstance(block, LINK_BLOCKS)]
        value |= {"files": files} if files and "files" not in value else {}
        value = add_beside(value, {"content": parts}) if parts else value
        more = [text for text in texts if text.strip() and not _repeats(text, structure)]
        if more and not _repeat_together(texts, structure):
            value = add_beside(value, {"text": cleanup.strip_hidden_characters("\n\n".join(more))})
        return value
    others = [_describe_block(block, store, reader) for block in result.content if not isinstance(block, TextContent)]
    if not texts and not others:
        return dict(DONE)
    data = _parse_texts(texts, reader)
    answer: dict[str, Any] = {"text": cleanup.strip_hidden_characters("\n\n".join(texts))} if texts else {}
    if data is not None:
        answer = wrap_value(clean_value(data, reader))
    return add_beside(answer, {"content": others}) if others else answer


def _parse_texts(texts: Sequence[str], reader: LenientReader) -> Any:
    """Return the data that texts are, as servers write it that have no structured content; None if they are none.

    Several texts with an object each are the rows of one list.
    """
    values = [_parse_text(text, reader) for text in texts]
    if not values or any(value is None for value in values):
        return None
    return values[0] if len(values) == 1 else values


def _parse_text(text: str, reader: LenientReader) -> Any:
    return find_data(text, reader) if looks_like_json(text) else None


def _repeats(text: str, structure: Any) -> bool:
    """Return whether a text only repeats a structure or a value in it, as servers write it for older clients."""
    try:
        value = LenientReader().parse(text)
    except UnreadableJSON:
        value = text
    alone = structure["result"] if isinstance(structure, dict) and structure.keys() == {"result"} else structure
    values = structure.values() if isinstance(structure, dict) else ()
    rows = alone if isinstance(alone, list) else ()
    known = [structure, alone, *values, *rows]
    return value in known or text in known or text.strip() == str(alone)


def _repeat_together(texts: Sequence[str], structure: Any) -> bool:
    """Return whether texts are the rows of a list in a structure, one each."""
    values = list(structure.values()) if isinstance(structure, dict) else [structure]
    return _parse_texts(texts, LenientReader()) in values if len(texts) > 1 else False


def read_text(result: CallToolResult) -> str:
    """Return the texts of a result, for an error."""
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return "\n".join(texts) or json.dumps(result.structured_content or "", ensure_ascii=False)


def _store_contents(value: Any, store: StoreFile) -> Any:
    """Return structured content with stored files instead of the blocks of MCP that hold files as base64."""
    if isinstance(value, list):
        return [_store_contents(each, store) for each in value]
    if not isinstance(value, dict):
        return value
    content_type = value.get("mimeType")
    data = value.get("blob") if "uri" in value else value.get("data") if value.get("type") in FILE_TYPES else None
    if isinstance(data, str) and isinstance(content_type, str):
        name = str(value.get("uri") or value["type"]).rpartition("/")[2]
        return {"file": store(name or "file", content_type, data)}
    return {name: _store_contents(each, store) for name, each in value.items()}


def _describe_block(block: ContentBlock, store: StoreFile, reader: LenientReader) -> dict[str, Any]:
    """Return what a model reads of a block that is not text. The content of files is stored, not shown."""
    if isinstance(block, ImageContent | AudioContent):
        return {"file": store(block.type, block.mime_type, block.data)}
    if isinstance(block, ResourceLink):
        described = {"resource": block.uri, "name": block.name, "description": block.description or ""}
        return {name: cleanup.strip_hidden_characters(value) for name, value in described.items() if value}
    if isinstance(block, EmbeddedResource):
        return _describe_resource(block.resource, store, reader)
    return {}


def _describe_resource(
    resource: TextResourceContents | BlobResourceContents, store: StoreFile, reader: LenientReader
) -> dict[str, Any]:
    """Return what a model reads of the contents of a resource."""
    uri = cleanup.strip_hidden_characters(resource.uri)
    if isinstance(resource, TextResourceContents):
        if (data := _parse_text(resource.text, reader)) is not None:
            return {"resource": uri, "data": clean_value(data, reader)}
        return {"resource": uri, "text": cleanup.strip_hidden_characters(resource.text)}
    content_type = resource.mime_type or "application/octet-stream"
    name = uri.rpartition("/")[2] or "file"
    return {"resource": uri, "file": store(name, content_type, resource.blob)}


def _decode(text: str) -> bytes:
    """Return the bytes of a file; the text itself if it is no base64, so that the file is at least what was sent."""
    try:
        compact = "".join(text.split())
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text.encode()
