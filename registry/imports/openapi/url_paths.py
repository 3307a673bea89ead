"""Split the paths of operations into segments of words, without what says nothing: versions, suffixes, shared parts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from registry.text.name_parts import Words, drop_parent, to_singular
from registry.text.tool_name_words import split_name

MIN_SHARED = 3  # paths before what they all begin with is dropped
SCOPE_SHARE = 0.8  # of the paths begin with a resource and its id: it is the scope of the service, such as an account

_VERSION = re.compile(
    r"v?\d{1,8}(?:\.\d{1,8}){0,3}(?:[.-]?(?:alpha|beta|preview|rc))?\d{0,4}|v\d{1,4}[a-z]{1,10}\d{0,4}|\d{4}-\d{2}(?:-\d{2})?",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_SUFFIX = re.compile(r"\.(?:json|jsonp|xml|php|html?|aspx?|ashx|asmx|svc|jsp|do|cgi|action|csv|\{[^{}]*\})$", re.I)
_FORMAT = re.compile(r"(?<=[a-z}])\{[^{}]*(?:ext|format)[^{}]*\}$", re.IGNORECASE)  # profiles{extension}
_DOMAIN = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,4}(?:io|com|org|net|dev)", re.IGNORECASE)  # networking.k8s.io
_METHOD_IN_QUERY = re.compile(r"(?:^|&)(?:method|action|function|operation|op|cmd)=([\w.-]+)", re.IGNORECASE)
_LABEL = re.compile(r"[^\W\d][\w-]*")
_GENERIC = frozenset(("api", "apis", "rest", "json", "rpc", "jsonrpc", "ajax"))  # before the first resource


@dataclass(frozen=True, slots=True)
class PathSegment:
    """One part of a path: its words, or none for a placeholder.

    `action` follows a colon, as in items:batchGet. `is_dotted`: it follows a dot, as postMessage in chat.postMessage.
    """

    words: Words
    placeholder: str = ""
    action: Words = ()
    is_dotted: bool = False


def split_paths(paths: Mapping[str, str]) -> dict[str, list[PathSegment]]:
    """Return {name: segments} of {name: path}, without what all paths of the document share."""
    segments = {name: _split_path(path) for name, path in paths.items()}
    shared = _count_shared([each for each in segments.values() if each])
    segments = {name: each[shared:] for name, each in segments.items()}
    while prefix := _find_prefix([each for each in segments.values() if each]):
        segments = {name: each[1:] if each and each[0].words == prefix else each for name, each in segments.items()}
    scope = _find_scope(segments.values())
    return {name: _drop_scope(each, scope) for name, each in segments.items()}


def list_parts(path: str) -> list[Words]:
    """Return the words of each segment of a path, in the singular: users and user do not differ."""
    parts = (tuple(split_name(part)) for part in _PLACEHOLDER.sub(" ", path).split("/"))
    return [to_singular(words) for words in parts if words]


def is_version(text: str) -> bool:
    """Return whether a segment of a path is a version."""
    return bool(_VERSION.fullmatch(text))


def list_placeholders(path: str) -> list[Words]:
    """Return the words of each placeholder of a path."""
    return [tuple(split_name(each)) for each in _PLACEHOLDER.findall(path)]


def _split_path(path: str) -> list[PathSegment]:
    segments: list[PathSegment] = []
    path, _, fragment = path.partition("#")
    path, _, query = path.partition("?")
    for part in path.split("/"):
        part = f"{{{part[1:]}}}" if part.startswith(":") else part  # /users/:id
        whole, _, action = part.partition(":")
        text = _SUFFIX.sub("", _FORMAT.sub("", whole)) if not _DOMAIN.fullmatch(whole) else whole.split(".")[0]
        actions = tuple(split_name(_PLACEHOLDER.sub("", action)))
        if placeholder := _PLACEHOLDER.search(text):  # also {id}.json and v{version}
            if segments and segments[-1].words == ("id",):  # /leases/id/{id}
                segments.pop()
            segments.append(PathSegment((), placeholder[0].strip("{}"), actions))
        elif text and not is_version(text) and (segments or text.lower() not in _GENERIC):
            segments += _split_dots(text, actions)
    if method := _METHOD_IN_QUERY.search(query):
        segments += _split_dots(method[1], ())
    if segments and (last := path.rstrip("/").rpartition("/")[2]).isdigit():  # /documents/1, an example
        segments.append(PathSegment((), last))
    if segments and "=" not in fragment and (words := tuple(split_name(fragment))):  # how documents tell them apart
        segments[-1] = replace(segments[-1], action=words)
    return segments


def _split_dots(text: str, action: Words) -> list[PathSegment]:
    """Return the segments of a text with dots: the method of a service, as chat.postMessage, or only a name."""
    labels = text.split(".")
    if len(labels) == 1 or not all(map(_LABEL.fullmatch, labels)):
        words = tuple(split_name(text))
        return [PathSegment(words, action=action)] if words or action else []
    split = [PathSegment(tuple(split_name(label)), is_dotted=index > 0) for index, label in enumerate(labels)]
    return [each for each in split if each.words]


def _count_shared(all_segments: list[list[PathSegment]]) -> int:
    """Return how many segments all paths begin with, and none ends in."""
    if len(all_segments) < MIN_SHARED:
        return 0
    count = 0
    for level in zip(*all_segments, strict=False):
        is_last = any(len(each) <= count + 1 for each in all_segments)
        if is_last or len({segment.words for segment in level}) != 1 or level[0].action:
            break
        count += 1
    return count


def _find_prefix(all_segments: Sequence[Sequence[PathSegment]]) -> Words:
    """Return the first words of most paths, if they never name a resource: /catalog/skus but no /catalog/{id}."""
    if len(all_segments) < MIN_SHARED:
        return ()
    firsts = Counter(each[0].words for each in all_segments)
    words, count = min(firsts.items(), key=lambda item: (-item[1], item[0]))
    own = [each for each in all_segments if each[0].words == words]
    is_namespace = all(len(each) > 1 and each[1].words for each in own)
    return words if count >= SCOPE_SHARE * len(all_segments) and is_namespace else ()


def _find_scope(all_segments: Iterable[Sequence[PathSegment]]) -> Words:
    """Return the first words of most paths if an id and another resource follow them: /accounts/{id}/envelopes."""
    listed = [each for each in all_segments if each]
    firsts = Counter(each[0].words for each in listed if _has_scope(each))
    if not firsts or len(listed) < MIN_SHARED:
        return ()
    words, count = min(firsts.items(), key=lambda item: (-item[1], item[0]))
    return words if count >= SCOPE_SHARE * len(listed) else ()


def _has_scope(segments: Sequence[PathSegment]) -> bool:
    return len(segments) > 2 and bool(segments[0].words and segments[1].placeholder and segments[2].words)


def _drop_scope(segments: list[PathSegment], scope: Words) -> list[PathSegment]:
    if scope and _has_scope(segments) and segments[0].words == scope:
        segments = segments[2:]
    words = [each.words for each in segments[:2]]
    if words in ([("users",), ("me",)], [("user",), ("me",)]) and len(segments) > 2:  # /users/me/settings
        segments = segments[1:]
    return segments


def name_levels(segments: Sequence[PathSegment]) -> list[Words]:
    """Return the resources of segments, each in the singular and without the words of the one above."""
    levels: list[Words] = []
    for segment in segments:
        words = to_singular(segment.words)
        if words and not (levels and words == levels[-1]):
            levels.append(drop_parent(words, levels[-1]) if levels else words)
    return levels
