"""What a tool answered, as the result of a call: structured content, else its texts; files are stored."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
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

from core.text import json_text
from core.text.json_text import NotStrictJSON
from gateway.contracts.errors import GatewayError, InternalError
from gateway.executors.base import UpstreamCall
from gateway.executors.remote import result_values
from gateway.executors.remote.result_values import DONE, clean_value, wrap_value
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

StoreFile = Callable[[str, str, str], dict[str, Any]]  # takes name, content type and base64; returns what to answer

MAX_FILES = 10  # of one answer
FILE_TYPES = ("image", "audio")  # of blocks with their content in `data`


def read_result(result: CallToolResult, work: UpstreamCall, redactor: Redactor = NO_SECRETS) -> dict[str, Any]:
    """Return the result of a tool that succeeded, without secrets. Raises InternalError (upstream_broken).

    It stores at most ten files: with more, one answer could use up the whole quota of a user. If it
    fails, none stays.
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

    try:
        value: dict[str, Any] = redactor.redact_value(_read_contents(result, store_file))
    except GatewayError:
        result_values.remove_files(file["id"] for file in files if "id" in file)
        raise
    return value


def _read_contents(result: CallToolResult, store: StoreFile) -> dict[str, Any]:
    if result.structured_content is not None:
        value = wrap_value(clean_value(_store_contents(_check(result.structured_content), store)))
        files = _read_files(result.content, store)
        return value | ({"files": files} if files and "files" not in value else {})
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    others = [_describe_block(block, store) for block in result.content if not isinstance(block, TextContent)]
    if not texts and not others:
        return dict(DONE)
    if len(texts) == 1 and not others and (parsed := _parse_object(texts[0])) is not None:
        return clean_value(parsed)  # type: ignore[no-any-return]  # an object stays one
    answer: dict[str, Any] = {"text": cleanup.strip_hidden_characters("\n\n".join(texts))} if texts else {}
    return answer | ({"content": others} if others else {})


def read_text(result: CallToolResult) -> str:
    """Return the texts of a result, for an error."""
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return "\n".join(texts) or json.dumps(result.structured_content or "", ensure_ascii=False)


def _parse_object(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the object that a text is: servers without structured content write it as JSON."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json_text.parse(text.encode(), json_text.ANSWER_LIMITS)
    except (NotStrictJSON, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) else None


def _check(value: Any) -> Any:
    """Return a value that can be stored and sent as JSON. Raises InternalError."""
    try:
        return json_text.parse(json.dumps(value, ensure_ascii=False).encode(), json_text.ANSWER_LIMITS)
    except (NotStrictJSON, UnicodeEncodeError, RecursionError):
        raise _build_broken_error() from None


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


def _read_files(content: Sequence[ContentBlock], store: StoreFile) -> list[dict[str, Any]]:
    return [_describe_block(block, store) for block in content if isinstance(block, ImageContent | AudioContent)]


def _describe_block(block: ContentBlock, store: StoreFile) -> dict[str, Any]:
    """Return what a model reads of a block that is not text. The content of files is stored, not shown."""
    if isinstance(block, ImageContent | AudioContent):
        name = "image" if isinstance(block, ImageContent) else "audio"
        return {"file": store(name, block.mime_type, block.data)}
    if isinstance(block, ResourceLink):
        described = {"resource": block.uri, "name": block.name, "description": block.description or ""}
        return {name: cleanup.strip_hidden_characters(value) for name, value in described.items() if value}
    if isinstance(block, EmbeddedResource):
        return _describe_resource(block.resource, store)
    raise _build_broken_error()


def _describe_resource(resource: TextResourceContents | BlobResourceContents, store: StoreFile) -> dict[str, Any]:
    """Return what a model reads of the contents of a resource."""
    uri = cleanup.strip_hidden_characters(resource.uri)
    if isinstance(resource, TextResourceContents):
        return {"resource": uri, "text": cleanup.strip_hidden_characters(resource.text)}
    content_type = resource.mime_type or "application/octet-stream"
    name = uri.rpartition("/")[2] or "file"
    return {"resource": uri, "file": store(name, content_type, resource.blob)}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _build_broken_error() from None


def _build_broken_error() -> InternalError:
    return InternalError(
        "The tool's answer cannot be read. Tell the administrator.", status=502, reason="upstream_broken"
    )
