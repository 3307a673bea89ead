"""Resources and verbs of operations: `GET /users/{id}/posts` is user.post.list, `POST /users.delete` is user.delete.

The path names the resource. The verb is that of the path, of the operationId, of the summary or of the method: the
first of them that says more than the others.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.text.english import PREPOSITIONS, READ_VERBS
from registry.imports.import_source import ParsedToolName, join_segment
from registry.imports.openapi import url_paths
from registry.imports.openapi.url_paths import PathSegment
from registry.imports.openapi.verbs import OperationIntent, choose_verb, find_action, is_done_to, read_intent
from registry.text.name_parts import NameReading, Words, read_words
from registry.text.name_parts import to_singular as singularise
from registry.text.tool_name_words import VERBS, is_plural, is_verb, split_name, to_singular

MAX_LEVELS = 3  # of resources in a path, counted from the last one
MAX_OWN = 2  # words that tell an operationId from another one
MAX_TAG = 3  # words of a tag that names a resource


@dataclass(frozen=True, slots=True)
class NamedRoute:
    """What the name of an operation is made of. `name` is what identifies it; `lists`: it answers a list."""

    name: str
    method: str
    path: str
    operation_id: str = ""
    tag: str = ""
    summary: str = ""
    lists: bool = False
    is_write: bool = True


def parse_routes(routes: Sequence[NamedRoute]) -> dict[str, ParsedToolName]:
    """Return the parsed name of each operation. No two have the same resource, verb and qualifier."""
    segments = url_paths.split_paths({route.name: route.path for route in routes})
    methods_by_path: dict[str, set[str]] = defaultdict(set)
    for route in routes:
        methods_by_path[route.path].add(route.method)
    is_rpc = _are_functions([each for each in segments.values() if each])
    readers = {
        route.name: _RouteReader(route, segments[route.name], methods_by_path[route.path], is_rpc=is_rpc)
        for route in routes
    }
    parsed = {name: reader.read() for name, reader in readers.items()}
    plain = {name: reader.read_plainly() for name, reader in readers.items()}
    return _tell_apart(_resolve(parsed, plain), {route.name: route for route in routes})


def _are_functions(all_segments: Sequence[Sequence[PathSegment]]) -> bool:
    """Return whether most paths are the name of a function: /sendMessage, /setChatTitle."""
    named = [len(each) == 1 and len(each[0].words) > 1 and is_verb(each[0].words[0]) for each in all_segments]
    return len(named) >= url_paths.MIN_SHARED and sum(named) > len(named) / 2


def choose_tool_name(route: NamedRoute) -> str:
    """Return the tool name that an operation would like: its operationId, else its method and path."""
    text = route.operation_id or f"{route.method} {route.path}"
    words = split_name(text)
    short = "_".join(words)[:64].strip("_")
    return short or "_".join(split_name(f"{route.method} {route.path}"))[:64] or "operation"


class _RouteReader:
    """Reads the name of one operation, with what is said about it or only by its path and method."""

    def __init__(self, route: NamedRoute, segments: Sequence[PathSegment], methods: set[str], *, is_rpc: bool) -> None:
        self._route = route
        self._segments = segments
        self._methods = methods
        self._is_rpc = is_rpc
        self._is_item = bool(segments and segments[-1].placeholder)
        nouns = {to_singular(word) for each in segments for word in each.words}
        self._intent = read_intent(route.method, route.operation_id, route.summary, nouns)

    def read(self) -> ParsedToolName:
        """Return the name that says most."""
        last = self._segments[-1] if self._segments else None
        if last is None or not any(each.words for each in self._segments):
            return self._read_without_path()
        if last.action:
            return self._build(url_paths.name_levels(self._segments), "_".join(last.action))
        action = None
        if not self._is_item:
            action = find_action(self._route.method, self._segments, self._intent, is_rpc=self._is_rpc)
        if action:
            return self._read_action(action)
        levels = url_paths.name_levels(self._segments)
        verb = self._choose_verb(self._intent)
        if self._route.method != "GET" and verb != "list" and is_done_to(levels[-1], verb):
            if len(levels) > 1 and len(levels[-1]) == 1:  # POST /payments/{id}/captures, "Capture a payment"
                return self._build(levels[:-1], verb)
            verb = self._choose_verb(OperationIntent())  # POST /task_assignments, "Assign a task"
        if len(levels) > 1 < len(levels[-1]) and levels[-1][0] in PREPOSITIONS:  # POST /email/withTemplate
            return self._build(levels[:-1], verb, levels[-1])
        if len(levels) > 1 and levels[-1] == ("all",) and self._route.method == "GET":  # GET /listings/all
            return self._build(levels[:-1], "list", levels[-1])
        if self._route.method != "GET":  # PUT /follows/people, "Follow a person"
            levels = [level for level in levels[:-1] if level != (verb,)] + levels[-1:]
        return self._build(levels, verb)

    def read_plainly(self) -> ParsedToolName:
        """Return the name of path and method, for when the better one is taken."""
        levels = url_paths.name_levels(self._segments)
        if not levels:
            return self._read_without_path()
        verb = self._choose_verb(OperationIntent())
        last = self._segments[-1]
        return self._build([*levels, last.action] if last.action else levels, verb)

    def _choose_verb(self, intent: OperationIntent) -> str:
        words = next((each.words for each in reversed(self._segments) if each.words), ("",))
        lists = self._route.lists or (not self._is_item and is_plural(words[-1]))
        return choose_verb(
            self._route.method,
            intent,
            is_item=self._is_item,
            lists=lists,
            methods=self._methods,
            is_write=self._route.is_write,
        )

    def _read_action(self, action: Words) -> ParsedToolName:
        """Return the name of an operation whose path ends in what it does: /users/{id}/resetPassword."""
        parents = url_paths.name_levels(self._segments[:-1])
        reading = read_words(action, self._route.summary)
        if reading is None or reading.verb_index:  # its first word is a verb that only the document knows
            reading = NameReading(action[0], 0, action[1:], ())
        verb, nouns, qualifier = reading.verb, reading.resource, reading.qualifier
        if not parents:
            tag = tuple(split_name(self._route.tag))
            levels = [nouns or (tag if len(tag) <= MAX_TAG and tag != (verb,) else ())]
            if verb == "get" and nouns and is_plural(nouns[-1]) and not qualifier:
                verb = "list"
            return self._build(levels, verb, qualifier)
        above = next((each.words for each in reversed(self._segments[:-1]) if each.words), ())
        rest = action[len(verb.split("_")) :]
        if nouns and singularise(nouns) == parents[-1]:  # /users/getUser
            above, rest = nouns, tuple(qualifier)
        if verb == "get" and not rest and is_plural(above[-1]) and not self._has_id():
            verb = "list"
        return self._build(parents, verb, rest)

    def _has_id(self) -> bool:
        return any(each.placeholder for each in self._segments)

    def _read_without_path(self) -> ParsedToolName:
        tag, words = split_name(self._route.tag), split_name(self._route.operation_id)
        resource = tuple(tag) or tuple(words[1:]) or ("root",)
        return self._build([singularise(resource)], self._choose_verb(self._intent))

    def _build(self, levels: Sequence[Words], verb: str, qualifier: Words = ()) -> ParsedToolName:
        *namespaces, resource = [each for each in levels if each][-MAX_LEVELS:] or [()]
        return ParsedToolName(
            self._route.name,
            tuple(map(join_segment, namespaces)),
            singularise(resource),
            verb,
            tuple(qualifier),
            self._route.is_write,
            verb == "list",
            has_verb=False,  # the path is the resource: nothing is moved
        )


Key = tuple[tuple[str, ...], Words, str, Words]


def _key(parsed: ParsedToolName) -> Key:
    return parsed.namespaces, parsed.resource, parsed.verb, parsed.qualifier


def _resolve(parsed: Mapping[str, ParsedToolName], plain: Mapping[str, ParsedToolName]) -> dict[str, ParsedToolName]:
    """Return the names, plain ones where the better ones are taken by another op, or by a group of ops."""
    groups = {path for each in parsed.values() for path in _list_groups(each)}
    counts = Counter(map(_key, parsed.values()))
    resolved = dict(parsed)
    for name in sorted(parsed):
        each, other = parsed[name], plain[name]
        is_group = (*each.namespaces, *_segment(each.resource), each.leaf) in groups
        if _key(each) == _key(other) or not (is_group or counts[_key(each)] > 1):
            continue
        is_same_resource = each.namespaces == other.namespaces and each.resource == other.resource
        is_wrong = each.verb in READ_VERBS and other.verb not in READ_VERBS  # POST /programs, getPrograms
        if is_group or (is_same_resource and not is_wrong and not counts[_key(other)]):
            counts[_key(each)] -= 1
            counts[_key(other)] += 1
            resolved[name] = other
    return resolved


def _segment(words: Words) -> tuple[str, ...]:
    return (join_segment(words),) if words else ()


def _list_groups(parsed: ParsedToolName) -> list[tuple[str, ...]]:
    whole = (*parsed.namespaces, *_segment(parsed.resource))
    return [whole[:length] for length in range(1, len(whole) + 1)]


def _tell_apart(parsed: Mapping[str, ParsedToolName], routes: Mapping[str, NamedRoute]) -> dict[str, ParsedToolName]:
    """Return the names with a qualifier where several operations would have the same one."""
    told = dict(parsed)
    for qualify in (_qualify_by_path, _qualify_by_method, _qualify_by_id, _qualify_by_number):
        same: dict[Key, list[NamedRoute]] = defaultdict(list)
        for name, each in told.items():
            same[_key(each)].append(routes[name])
        for alike in same.values():
            if len(alike) > 1:
                alike.sort(key=lambda route: (route.path.count("/"), route.path, route.name))
                for route, qualifier in zip(alike[1:], qualify(alike)[1:], strict=True):
                    each = told[route.name]
                    told[route.name] = replace(each, qualifier=(*each.qualifier, *qualifier))
    return told


def _qualify_by_path(alike: Sequence[NamedRoute]) -> list[Words]:
    """Return words that only each path has: of a segment, or of a placeholder."""
    parts = [url_paths.list_parts(route.path) for route in alike]
    counts = Counter(part for each in parts for part in set(each))
    return [_choose_own(each, counts, route.path) for each, route in zip(parts, alike, strict=True)]


def _choose_own(parts: Sequence[Words], counts: Mapping[Words, int], path: str) -> Words:
    own = next((part for part in parts if counts[part] == 1), ())
    if own:
        shorter = next((count for count in range(len(own) - 1, 0, -1) if own[:count] in counts), 0)
        is_telling = bool(shorter) or url_paths.is_version("".join(own))  # description and description.xml: get_xml
        return own[shorter:] if is_telling else ("of", *own)
    placeholders = url_paths.list_placeholders(path)
    return ("by", *placeholders[-1]) if placeholders else ()


def _qualify_by_method(alike: Sequence[NamedRoute]) -> list[Words]:
    """Return the method of each: two of one path do the same."""
    return [(route.method.lower(),) if len({each.method for each in alike}) > 1 else () for route in alike]


def _qualify_by_id(alike: Sequence[NamedRoute]) -> list[Words]:
    """Return the words that only each operationId or summary has."""
    texts = [dict.fromkeys(split_name(f"{route.operation_id} {route.summary[:100]}")) for route in alike]
    counts = Counter(word for words in texts for word in words)
    told = [[word for word in words if counts[word] == 1 and not word.isdigit()] for words in texts]
    return [tuple([word for word in words if word not in VERBS] or words)[:MAX_OWN] for words in told]


def _qualify_by_number(alike: Sequence[NamedRoute]) -> list[Words]:
    return [(str(number),) for number in range(1, len(alike) + 1)]
