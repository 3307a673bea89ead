"""Resources and verbs of operations, by path and method: `GET /users/{id}/posts` is user.post.list."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.text.english import READ_VERBS
from registry.imports.import_source import ParsedToolName, join_segment
from registry.text.tool_name_words import VERBS, split_name, to_singular


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_LEVELS = 3  # of resources in a path, counted from the last one

_VERSION = re.compile(
    r"v?\d{1,8}(?:\.\d{1,8}){0,3}(?:alpha|beta|preview)?\d{0,4}|v\d{1,4}[a-z]{1,10}\d{0,4}", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_GENERIC = frozenset(("api", "apis", "rest", "json"))  # before the first resource
_ITEM_VERBS = {"GET": "get", "PUT": "update", "PATCH": "update", "DELETE": "delete", "POST": "update", "HEAD": "check"}
_LIST_VERBS = {"GET": "list", "PUT": "replace", "PATCH": "update_many", "DELETE": "delete_all", "POST": "create"}
_LIST_VERBS |= {"HEAD": "check"}


@dataclass(frozen=True, slots=True)
class NamedRoute:
    """What the name of an operation is made of. `name` is what identifies it; `lists`: it answers a list."""

    name: str
    method: str
    path: str
    operation_id: str = ""
    tag: str = ""
    description: str = ""
    lists: bool = False
    is_write: bool = True


@dataclass(frozen=True, slots=True)
class _Segment:
    """One part of a path: its words, or none for a placeholder. `action` follows a colon, as in items:batchGet."""

    words: tuple[str, ...]
    placeholder: str = ""
    action: tuple[str, ...] = ()


def parse_routes(routes: Sequence[NamedRoute]) -> dict[str, ParsedToolName]:
    """Return the parsed name of each operation. No two have the same resource, verb and qualifier."""
    segments = {route.name: _split_path(route.path) for route in routes}
    shared = _count_shared([each for each in segments.values() if each])
    methods_by_path: dict[str, set[str]] = defaultdict(set)
    for route in routes:
        methods_by_path[route.path].add(route.method)
    parsed = {route.name: _parse(route, segments[route.name][shared:], methods_by_path[route.path]) for route in routes}
    return _tell_apart(parsed, {route.name: route.path for route in routes})


def choose_tool_name(route: NamedRoute) -> str:
    """Return the tool name that an operation would like: its operationId, else its method and path."""
    text = route.operation_id or f"{route.method} {route.path}"
    words = split_name(text)
    short = "_".join(words)[:64].strip("_")
    return short or "_".join(split_name(f"{route.method} {route.path}"))[:64] or "operation"


def _split_path(path: str) -> list[_Segment]:
    segments = []
    for part in path.partition("?")[0].split("/"):
        text, _, action = part.partition(":") if not part.startswith(":") else ("", "", part[1:])
        placeholder = _PLACEHOLDER.search(text)
        words = tuple(split_name(_PLACEHOLDER.sub(" ", text)))
        if placeholder:  # also {id}.json and v{version}
            segments.append(_Segment((), placeholder[0].strip("{}"), tuple(split_name(_PLACEHOLDER.sub("", action)))))
        elif words and not _VERSION.fullmatch(text) and (segments or text.lower() not in _GENERIC):
            segments.append(_Segment(words, action=tuple(split_name(_PLACEHOLDER.sub("", action)))))
    return segments


def _count_shared(all_segments: list[list[_Segment]]) -> int:
    """Return how many segments all paths begin with, and none ends in."""
    if len(all_segments) < 3:
        return 0
    count = 0
    for level in zip(*all_segments, strict=False):
        is_last = any(len(each) <= count + 1 for each in all_segments)
        if is_last or len({segment.words for segment in level}) != 1:
            break
        count += 1
    return count


def _parse(route: NamedRoute, segments: list[_Segment], methods: set[str]) -> ParsedToolName:
    statics = [each for each in segments if each.words]
    last = segments[-1] if segments else None
    if last is None or not statics:
        resource = tuple(split_name(route.tag)) or tuple(split_name(route.operation_id)[1:]) or ("root",)
        has_item = any(each.placeholder for each in segments)
        verb = _choose_verb(route, is_item=has_item, is_plural=route.lists, methods=methods)
        return _build(route, [resource], verb)
    names = [each.words for each in statics]
    if last.action:
        return _build(route, names, "_".join(last.action))
    is_item = bool(last.placeholder)
    action = None if is_item or (len(segments) == 1 and route.method == "GET") else _find_action(route, segments)
    if action is not None:
        verb, qualifier = action
        return _build(route, names[:-1] or [tuple(split_name(route.tag)) or names[-1]], verb, qualifier)
    is_plural = route.lists or (not is_item and to_singular(last.words[-1]) != last.words[-1])
    return _build(route, names, _choose_verb(route, is_item=is_item, is_plural=is_plural, methods=methods))


def _find_action(route: NamedRoute, segments: list[_Segment]) -> tuple[str, tuple[str, ...]] | None:
    """Return the verb and what follows it if the last segment says what is done: /orders/{id}/cancel, /users/search."""
    words = segments[-1].words
    verb = words[0]
    if verb not in VERBS or (len(words) == 1 and to_singular(verb) != verb):
        return None
    if route.method == "GET":
        is_action = verb in READ_VERBS and (len(words) > 1 or verb not in _NOUNS)
    elif route.method == "POST":
        is_action = len(segments) > 1 or len(words) > 1
    else:
        is_action = len(segments) > 2 and verb not in _NOUNS
    return (verb, words[1:]) if is_action else None


_NOUNS = _split_to_set("list count check report view query record test rank preview")


def _choose_verb(route: NamedRoute, *, is_item: bool, is_plural: bool, methods: set[str]) -> str:
    method = route.method
    if method == "GET" and not is_item and not is_plural:
        return "get"
    if method == "PUT" and "PATCH" in methods:
        return "replace"
    if method == "POST" and is_item and methods & {"PUT", "PATCH"}:
        return "post"
    if is_item:
        return _ITEM_VERBS.get(method, method.lower())
    if not is_plural and method in ("PUT", "PATCH", "DELETE"):
        return _ITEM_VERBS[method]
    return _LIST_VERBS.get(method, method.lower())


def _build(
    route: NamedRoute, names: Sequence[tuple[str, ...]], verb: str, qualifier: tuple[str, ...] = ()
) -> ParsedToolName:
    levels = [_to_singular(words) for words in _drop_repeated(names)][-MAX_LEVELS:]
    *namespaces, resource = levels
    return ParsedToolName(
        route.name,
        tuple(map(join_segment, namespaces)),
        resource,
        verb,
        qualifier,
        route.is_write,
        verb == "list",
        has_verb=False,  # the path is the resource: nothing is moved
    )


def _drop_repeated(names: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Drop a name that the next one begins with: /orders/orders, /user/user_groups."""
    return [words for index, words in enumerate(names) if index + 1 == len(names) or words != names[index + 1]]


def _to_singular(words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words[:-1], to_singular(words[-1]))


def _tell_apart(parsed: Mapping[str, ParsedToolName], paths: Mapping[str, str]) -> dict[str, ParsedToolName]:
    """Return the names with a qualifier where several operations would have the same one."""
    same: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for name, each in parsed.items():
        same[(each.namespaces, each.resource, each.verb, each.qualifier)].append(name)
    told = dict(parsed)
    for names in same.values():
        counts = Counter(part for name in names for part in set(_list_parts(paths[name])))
        for name in sorted(names, key=lambda name: (paths[name].count("/"), paths[name]))[1:]:
            qualifier = _qualify(paths[name], counts)
            told[name] = replace(parsed[name], qualifier=(*parsed[name].qualifier, *qualifier))
    return _number(told)


def _qualify(path: str, counts: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return words that only this path has, of those that would have the same name: of a segment or a placeholder."""
    own = [part for part in _list_parts(path) if counts[part] == 1]
    if own:
        return ("of", *own[0])
    placeholders = [tuple(split_name(each)) for each in _PLACEHOLDER.findall(path)]
    return ("by", *placeholders[-1]) if placeholders else ()


def _list_parts(path: str) -> list[tuple[str, ...]]:
    """Return the words of each segment of a path, in the singular: users and user do not differ."""
    parts = (tuple(split_name(part)) for part in _PLACEHOLDER.sub(" ", path).split("/"))
    return [_to_singular(words) for words in parts if words]


def _number(parsed: dict[str, ParsedToolName]) -> dict[str, ParsedToolName]:
    """Append numbers where names differ in nothing else."""
    counts: Counter[tuple[object, ...]] = Counter()
    for name, each in parsed.items():
        key = (each.namespaces, each.resource, each.verb, each.qualifier)
        counts[key] += 1
        if counts[key] > 1:
            parsed[name] = replace(each, qualifier=(*each.qualifier, str(counts[key])))
    return parsed
