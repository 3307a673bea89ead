"""What a document says about an operation, in the words that help shows."""

from collections.abc import Collection, Iterable
from typing import Any

from registry import result_row
from registry.imports.openapi import swagger
from registry.imports.openapi.references import DanglingReference, Located, OtherHost, References
from registry.imports.openapi.requests.media_types import is_json
from registry.result_row import Outline
from registry.text import cleanup

MAX_NOTE = 300
MAX_FIELDS = 8  # of an answer, named in the notes
MAX_PARTS = 20  # of a schema in an answer's outline
OUTLINE_DEPTH = 2  # objects within an answer without an id of its own


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PAGES = _split_to_set("page page_number pagenumber page_num pageindex")
_OFFSETS = _split_to_set("offset skip start startat start_index startindex from")
_CURSORS = _split_to_set(
    """
    cursor next_cursor page_token pagetoken next_token nexttoken starting_after ending_before after before marker
    continuationtoken continuation_token continue pageafter
    """
)
_SIZES = _split_to_set(
    "limit per_page perpage page_size pagesize size count maxresults max_results top pagelimit max_items"
)


def write_description(operation: dict[str, Any]) -> str:
    """Return the description of an operation: its summary if it has none."""
    texts = (operation.get(key) for key in ("description", "summary"))
    return next((shown for text in texts if isinstance(text, str) and (shown := cleanup.clean_description(text))), "")


def write_summary(operation: dict[str, Any], name: str) -> str:
    """Return one line of at most 12 words."""
    summary = operation.get("summary")
    has_summary = isinstance(summary, str) and cleanup.strip_blank(summary)
    text = summary if has_summary else operation.get("description")
    return cleanup.write_summary(text if isinstance(text, str) else "", name)


def write_notes(arguments: Collection[str], answer: str, *, is_deprecated: bool) -> str:
    """Return the notes: that it is deprecated, how to get the next page, and what the answer holds."""
    sentences = ["Deprecated by the service; prefer another op."] if is_deprecated else []
    sentences += [each for each in (_describe_pages(arguments), answer) if each]
    return " ".join(sentences)


def describe_answer(operation: Located, references: References, *, is_swagger: bool, produces: list[str]) -> str:
    """Return a sentence on what a successful call answers: what the document says, and the fields."""
    response = _find_success(operation, references)
    if response is None:
        return ""
    value = swagger.convert_response(response.value, produces) if is_swagger else response.value
    text = value.get("description")
    said = cleanup.write_summary(text, "") if isinstance(text, str) and len(text.split()) > 2 else ""
    fields = _list_fields(value.get("content"), references, response.url)
    shown = ", ".join(fields[:MAX_FIELDS]) + (" …" if len(fields) > MAX_FIELDS else "")
    sentences = [f"{said}." if said else "", f"Answers {shown}." if shown else ""]
    return " ".join(filter(None, sentences))[:MAX_NOTE]


def list_answer_types(
    operation: Located, references: References, *, is_swagger: bool, produces: list[str]
) -> list[str]:
    """Return the media types of all successful answers; empty if the document has none."""
    own = operation.value.get("produces")
    if is_swagger:
        return [each for each in own if isinstance(each, str)] if isinstance(own, list) else produces
    responses = operation.value.get("responses")
    types: list[str] = []
    for code, response in responses.items() if isinstance(responses, dict) else ():
        if str(code).startswith("2"):
            try:
                value = references.follow(response, operation.url).value
            except (DanglingReference, OtherHost):
                continue
            content = value.get("content") if isinstance(value, dict) else None
            types += map(str, content) if isinstance(content, dict) else ()
    return types


def answers_list(operation: Located, references: References, *, is_swagger: bool) -> bool:
    """Return whether a successful call answers a list at the top."""
    response = _find_success(operation, references)
    if response is None:
        return False
    value = swagger.convert_response(response.value, []) if is_swagger else response.value
    schema = _find_schema(value.get("content"), references, response.url)
    return bool(schema and isinstance(schema.value, dict) and schema.value.get("type") == "array")


def outline_answer(operation: Located, references: References, *, is_swagger: bool) -> Outline:
    """Return the members of a successful answer as an outline (see registry.result_row); empty for a list.

    Parts in other files are left out, because only this needs them.
    """
    response = _find_success(operation, references)
    if response is None:
        return {}
    value = swagger.convert_response(response.value, []) if is_swagger else response.value
    schema = _find_schema(value.get("content"), references, response.url)
    if schema is None:
        return {}
    members = _outline_schema(schema, references, depth=0)
    has_id = any(name in members for name in result_row.IDS)
    return members if has_id else _outline_schema(schema, references, depth=OUTLINE_DEPTH)


def _outline_schema(schema: Located, references: References, *, depth: int) -> dict[str, Any]:
    if not isinstance(schema.value, dict):
        return {}
    outline: dict[str, Any] = {}
    parts = schema.value.get("allOf")
    for part in parts[:MAX_PARTS] if isinstance(parts, list) else ():
        if (located := _follow_inside(part, schema.url, references)) and "allOf" not in (located.value or {}):
            outline |= _outline_schema(located, references, depth=depth)
    properties = schema.value.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        located = _follow_inside(each, schema.url, references)
        members = located.value if located and isinstance(located.value, dict) else {}
        if members.get("type") == "array":
            continue
        has_members = depth and members.keys() & {"properties", "allOf"}
        outline[name] = _outline_schema(located, references, depth=depth - 1) if located and has_members else None
    return outline


def _follow_inside(value: Any, url: str, references: References) -> Located | None:
    """Return a schema in the same file. None if it is elsewhere or missing."""
    if isinstance(value, dict) and not str(value.get("$ref", "#")).startswith("#"):
        return None
    try:
        return references.follow(value, url)
    except (DanglingReference, OtherHost):
        return None


def _describe_pages(arguments: Iterable[str]) -> str:
    by_kind: dict[str, str] = {}
    for name in arguments:
        lowered = name.lower().replace("-", "_")
        for kind, names in (("cursor", _CURSORS), ("page", _PAGES), ("offset", _OFFSETS), ("size", _SIZES)):
            if lowered in names or lowered.replace("_", "") in names:
                by_kind.setdefault(kind, name)
    step = next((by_kind[kind] for kind in ("cursor", "page", "offset") if kind in by_kind), "")
    size = by_kind.get("size", "")
    if step and (size or "cursor" in by_kind or "page" in by_kind):
        return f"Answers in pages: send {step}{f' and {size}' if size else ''} for the next ones."
    return ""


def _find_success(operation: Located, references: References) -> Located | None:
    responses = operation.value.get("responses")
    if not isinstance(responses, dict):
        return None
    for code in sorted(responses, key=lambda code: (not str(code).startswith("2"), str(code))):
        if str(code).startswith("2") or code == "default":
            try:
                located = references.follow(responses[code], operation.url)
            except DanglingReference:
                return None
            return located if isinstance(located.value, dict) else None
    return None


def _find_schema(content: Any, references: References, url: str) -> Located | None:
    if not isinstance(content, dict):
        return None
    media = next((content[each] for each in content if is_json(each)), None)
    if not isinstance(media, dict) or not isinstance(media.get("schema"), dict):
        return None
    try:
        return references.follow(media["schema"], url)
    except DanglingReference:
        return None


def _list_fields(content: Any, references: References, url: str) -> list[str]:
    located = _find_schema(content, references, url)
    if located is None or not isinstance(located.value, dict):
        return []
    schema, prefix = located.value, ""
    if schema.get("type") == "array":
        try:
            schema, prefix = references.follow(schema.get("items"), located.url).value, "items: "
        except DanglingReference:
            return []
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = [name for name in properties if name.isidentifier()] if isinstance(properties, dict) else []
    return [f"{prefix}{names[0]}", *names[1:]] if names else []
