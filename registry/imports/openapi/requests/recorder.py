"""What a document says about the request of an operation, to compare a request with it that is never sent.

It is read from the document, and not from the mapping that the gateway sends by, so that one checks the other.
"""

import glob
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from registry.imports.openapi.references import DanglingReference, Located, OtherHost, References
from registry.imports.openapi.requests import media_types
from registry.imports.openapi.requests.path_templates import parse_path
from registry.request_mapping import FORM_TYPE, MULTIPART_TYPE, RecordedRequest

_PLAIN_TYPES = ("string", "integer", "number", "boolean", "array")
_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
_PART_NAME = re.compile(r'form-data; name="([^"]*)"')
# The gateway, or the connection, sets them.
_SET_ELSEWHERE = frozenset(("accept", "content-type", "authorization", "idempotency-key", "x-idempotency-key"))


@dataclass(frozen=True, slots=True)
class DocumentedRequest:
    """The request of one operation, as documented. `required` are (place, name) of parameters.

    `members` are the required properties of a JSON or form body.
    """

    method: str
    path: str
    required: tuple[tuple[str, str], ...] = ()
    media_types: tuple[str, ...] = ()
    needs_body: bool = False
    members: tuple[str, ...] = ()

    def find_problem(self, request: RecordedRequest) -> str:
        """Return how a request differs from the documented one, as a clause; "" if it does not."""
        parts = urlsplit(request.url)
        template = parse_path(self.path)
        if request.method != self.method:
            return f"it is sent as {request.method}"
        if not _is_at_path(parts.path, self.path):
            return "its path is not the documented one"
        if template.query and template.query not in parts.query:
            return "the query of its path is missing"
        if missing := self._find_missing_parameter(request, parts.query):
            return missing
        return self._find_body_problem(request)

    def _find_missing_parameter(self, request: RecordedRequest, query: str) -> str:
        keys = {unquote(pair.partition("=")[0]) for pair in query.split("&")}
        cookies = {each.partition("=")[0].strip() for each in request.headers.get("cookie", "").split(";")}
        names = {"query": keys, "header": set(request.headers), "cookie": cookies}
        for place, name in self.required:
            wanted = name.lower() if place == "header" else name
            is_there = place not in names or wanted in names[place]
            # Objects are sent as their members, or as name[member].
            if not is_there and not any(key.startswith(f"{name}[") for key in keys):
                return f"{name[:60]} is required in its {place}, and nothing sends it"
        return ""

    def _find_body_problem(self, request: RecordedRequest) -> str:
        if not self.needs_body and request.body is None:
            return ""
        if request.body is None:
            return "its body is required, and nothing sends it"
        sent = media_types.get_base(request.headers.get("content-type", ""))
        documented = {media_types.get_base(each) for each in self.media_types}
        if documented and not any(_covers(each, sent) for each in documented):
            return f"its body is sent as {sent[:60]}"
        members = self._list_members(request.body, sent)
        missing = "" if members is None else next((name for name in self.members if name not in members), "")
        return f"{missing[:60]} is required in its body, and nothing sends it" if missing else ""

    def _list_members(self, body: bytes, sent: str) -> set[str] | None:
        """Return the names in a body; None if it has none."""
        if media_types.is_json(sent):
            value = json.loads(body)
            return set(value) if isinstance(value, dict) else None
        if sent == FORM_TYPE:
            return {name.partition("[")[0] for name, _ in parse_qsl(body.decode(), keep_blank_values=True)}
        if sent == MULTIPART_TYPE:
            return set(_PART_NAME.findall(body.decode("utf-8", "replace")))
        return None


def _covers(documented: str, sent: str) -> bool:
    kind, _, rest = documented.partition("/")
    is_any = documented in ("*/*", "text/json", "")  # which are sent as JSON
    return documented == sent or is_any or (rest == "*" and (sent.startswith(f"{kind}/") or kind == "*"))


def _is_at_path(address: str, path: str) -> bool:
    """Return whether the path of an address ends as documented. A base URL may have a path, too."""
    template = parse_path(path)
    pieces, at, is_greedy = [], 0, False
    for match in _PLACEHOLDER.finditer(template.path):
        pieces.append(glob.escape(template.path[at : match.start()]))
        placeholder = template.placeholders.get(match[1])
        is_greedy = is_greedy or bool(placeholder and placeholder.is_greedy)
        at = match.end()
    pieces.append(glob.escape(template.path[at:]))
    end = address if is_greedy else "/".join(address.split("/")[-template.path.count("/") :])
    return fnmatchcase(end, ("*" if is_greedy else "") + "?*".join(pieces).removeprefix("" if is_greedy else "/"))


def describe_request(
    method: str, path: str, parameters: list[Located], body: Located, references: References
) -> DocumentedRequest:
    """Return what a document says about a request. `parameters` are followed, `body` is in the form of OpenAPI 3."""
    required = [
        (str(each.value["in"]), str(each.value["name"]))
        for each in parameters
        if each.value.get("required") is True
        and each.value.get("in") in ("query", "header", "cookie")
        and _has_own_name(each, references)
    ]
    required = [(place, name) for place, name in required if place != "header" or name.lower() not in _SET_ELSEWHERE]
    content = body.value.get("content") if isinstance(body.value, dict) else None
    if not isinstance(content, dict) or not content:
        return DocumentedRequest(method, path, tuple(required))
    return DocumentedRequest(
        method,
        path,
        tuple(required),
        tuple(map(str, content)),
        needs_body=body.value.get("required") is True,
        members=tuple(_list_required(content, body, references)),
    )


def _has_own_name(parameter: Located, references: References) -> bool:
    """Return whether a parameter is sent under its name: an object can be sent as its members, which may be none."""
    if parameter.value.get("content"):
        return True
    try:
        schema = references.follow(parameter.value.get("schema", parameter.value), parameter.url).value
    except (DanglingReference, OtherHost):
        return False
    return isinstance(schema, dict) and schema.get("type") in _PLAIN_TYPES


def _list_required(content: Mapping[str, Any], body: Located, references: References) -> list[str]:
    """Return the required properties that a request has, of the media type that is sent."""
    media_type = media_types.choose_request_type(content)
    if not (media_types.is_json(media_type) or media_types.is_form(media_type)):
        return []
    try:
        media = references.follow(content[media_type], body.url)
        schema = references.follow(media.value.get("schema", {}), media.url) if isinstance(media.value, dict) else media
        value = schema.value if isinstance(schema.value, dict) else {}
        names = [name for name in value.get("required") or () if isinstance(name, str)]
        properties = value.get("properties") or {}
        located = {name: references.follow(properties.get(name, {}), schema.url).value for name in names}
    except (DanglingReference, OtherHost, AttributeError, TypeError):
        return []
    described = {name: each for name, each in located.items() if isinstance(each, dict)}
    return [name for name, each in described.items() if each.get("readOnly") is not True and "allOf" not in each]
