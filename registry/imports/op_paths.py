"""Derive readable paths, `group.resource.verb`, from tool names, and the groups above them."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from core.text import english
from registry.imports.import_source import ParsedToolName, join_segment
from registry.imports.openai import FunctionDefinition
from registry.models import ROOT, get_parent_path
from registry.search import tokenizer
from registry.snapshot.entries import GroupEntry, OpEntry
from registry.text import name_parts, tool_name_words
from registry.text.tool_name_words import NumberedNames

MAX_CHILDREN = 50  # of a group; above this, small resources are grouped under their first word
MAX_PATH = 200
MAX_LISTED = 4  # names in a group's summary, to keep it at about ten tokens
_VERB_ORDER = {name: place for place, name in enumerate(("list", "search", "get", "create", "update", "delete"))}
MIN_SHARED_NAMES = 3  # names that must begin with a word before it counts as a common prefix

_NAMESPACE_SEPARATOR = re.compile(r"__+|[./:\\]+")


@dataclass
class PathTree:
    """The names that are taken. A path belongs to one op or one group."""

    taken: set[str]
    groups: set[str] = field(default_factory=set)
    others: frozenset[str] = frozenset()  # names of ops outside of the import and of our own tools, normalised
    numbered_groups: NumberedNames = field(default_factory=NumberedNames)
    numbered_ops: NumberedNames = field(default_factory=NumberedNames)

    def claim_group(self, path: str) -> str:
        """Return a path that is or can become a group: this one, or with a number appended.

        The paths above it also become groups, so none of them can be an op.
        """
        parent, _, name = path.rpartition(".")
        if parent and parent not in self.groups:
            parent = self.claim_group(parent)
        whole = f"{parent}.{name}" if parent else name
        if self._may_be_group(whole):
            return whole
        return self.numbered_groups.find_free(_leave_room(whole), self._may_be_group)

    def claim_op_path(self, *candidates: str) -> str:
        """Take and return a free path for an op: the first free one, or the last with a number appended."""
        free = next((path for path in candidates if self.is_free(path)), "")
        free = free or self.numbered_ops.find_free(_leave_room(candidates[-1]), self.is_free)
        self.taken.add(free)
        ancestor = get_parent_path(free)
        while ancestor not in self.groups:
            self.groups.add(ancestor)
            ancestor = get_parent_path(ancestor)
        return free

    def is_free(self, path: str) -> bool:
        """Return whether no op and no group has this name, however it is spelled by ops outside of the import."""
        return path not in self.taken and path not in self.groups and tokenizer.normalise_name(path) not in self.others

    def _may_be_group(self, path: str) -> bool:
        return path in self.groups or path not in self.taken


def parse_tool_names(functions: Iterable[FunctionDefinition], group: str) -> dict[str, ParsedToolName]:
    """Return {tool name: parsed name}. Namespaces and a prefix that all names of the list share are dropped."""
    all_functions = list(functions)
    parts_by_name = {
        function.name: [part for part in _NAMESPACE_SEPARATOR.split(function.name) if part]
        for function in all_functions
    }
    shared_count = _count_common_namespaces(list(parts_by_name.values()))
    words_by_name = {
        name: [tool_name_words.split_name(part) for part in parts[shared_count:]]
        for name, parts in parts_by_name.items()
    }
    prefixes = {tuple(tool_name_words.split_name(group.rpartition(".")[2]))}
    prefixes |= {(word,) for word in _find_common_prefix(parts[-1] for parts in words_by_name.values() if parts)}
    return {function.name: _parse_name(function, words_by_name[function.name], prefixes) for function in all_functions}


def assign_paths(
    parsed_names: dict[str, ParsedToolName], group: str, tree: PathTree, *, known_paths: dict[str, str]
) -> dict[str, str]:
    """Return {tool name: path} and take these paths in the tree. The paths in `known_paths` stay unchanged."""
    by_namespaces: dict[tuple[str, ...], list[ParsedToolName]] = defaultdict(list)
    for parsed in parsed_names.values():
        by_namespaces[parsed.namespaces].append(parsed)
    assigned = {name: path for name, path in known_paths.items() if name in parsed_names}
    parents: dict[str, str] = {}
    new: list[ParsedToolName] = []
    for parts, members in sorted(by_namespaces.items()):
        base = tree.claim_group(".".join((group, *parts))[: MAX_PATH // 2].rstrip("."))
        for parsed in _choose_resources(members):
            if parsed.name not in known_paths:
                new.append(parsed)
                parents[parsed.name] = f"{base}.{join_segment(parsed.resource)}" if parsed.resource else base
    groups = {parent: tree.claim_group(parent) for parent in sorted(set(parents.values()))}
    tree.groups.update(groups.values())  # before any op, so that none takes the path of a group
    for parsed in sorted(new, key=lambda each: (each.is_list_called_get, each.name)):  # get_contact, then get_contacts
        assigned[parsed.name] = tree.claim_op_path(*_list_candidates(groups[parents[parsed.name]], parsed, tree))
    return assigned


def _list_candidates(parent: str, parsed: ParsedToolName, tree: PathTree) -> list[str]:
    """Return the paths for an op, best first. An op whose path is a group goes into it: search.run, search.user.get."""
    leaves = ["list", parsed.leaf] if parsed.is_list_called_get else [parsed.leaf]
    paths = [f"{parent}.{leaf}"[:MAX_PATH] for leaf in leaves]
    return [f"{path}.run"[:MAX_PATH] if path in tree.groups else path for path in paths]


def build_group_entries(op_entries: Iterable[OpEntry], *, group: str = "", about: str = "") -> list[GroupEntry]:
    """Return the entries of all groups above these ops, each with a summary of its children.

    `about` is the summary of `group`, if its document says what it is.
    """
    children: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in op_entries:
        path, summary = entry["op"], entry["summary"]
        while (parent := get_parent_path(path)) != ROOT:
            children[parent][path.rpartition(".")[2]] = summary
            path, summary = parent, ""
    return [
        {"path": path, "summary": (about if path == group else "") or summarise_group(summaries)}
        for path, summaries in children.items()
    ]


def summarise_group(children: dict[str, str]) -> str:
    """Return a group's summary: the names of its children, so that a model can ask for an op without listing the group.

    `children` is {name: summary of the op, "" for a group}. A single op is listed with its summary.
    """
    names = sorted(children, key=lambda name: (_VERB_ORDER.get(name, len(_VERB_ORDER)), name))
    if len(names) == 1 and children[names[0]]:
        return f"{names[0]}: {children[names[0]]}"[:200]
    return ", ".join([*names[:MAX_LISTED], *(["…"] if len(names) > MAX_LISTED else [])])[:200]


def _leave_room(path: str) -> str:
    """Return a path that a number can be appended to."""
    return path[: MAX_PATH - 6]


def _count_common_namespaces(names: Sequence[Sequence[str]]) -> int:
    """Return how many leading namespaces all names share."""
    if len(names) < 2 or min(map(len, names)) < 2:
        return 0
    levels = zip(*(parts[:-1] for parts in names), strict=False)
    return sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))


def _find_common_prefix(names: Iterable[list[str]]) -> set[str]:
    """Return the word that all names begin with, unless it is a verb, as in github_create_issue, github_list_issues."""
    firsts = Counter(each[0] if each else "" for each in names)
    first, count = firsts.most_common(1)[0] if firsts else ("", 0)
    return {first} if len(firsts) == 1 and count >= MIN_SHARED_NAMES and first not in tool_name_words.VERBS else set()


def _parse_name(function: FunctionDefinition, parts: list[list[str]], prefixes: set[tuple[str, ...]]) -> ParsedToolName:
    namespaces = tuple(join_segment(part) for part in parts[:-1] if part)
    name_words = name_parts.drop_repeated_words(parts[-1] if parts else [])
    for prefix in prefixes:
        if prefix and len(name_words) > len(prefix) and tuple(name_words[: len(prefix)]) == prefix:
            name_words = name_words[len(prefix) :]
    reading = name_parts.read_words(name_words, function.description)
    if reading is None:
        return _parse_name_without_verb(function, namespaces, name_words)
    resource = reading.resource
    if not resource and namespaces:
        namespaces, resource = namespaces[:-1], (namespaces[-1],)
    is_plural = bool(resource) and not reading.qualifier and tool_name_words.is_plural(resource[-1])
    is_write = tool_name_words.has_write_verb(name_words, name_words[reading.verb_index])
    return ParsedToolName(function.name, namespaces, resource, reading.verb, reading.qualifier, is_write, is_plural)


def _parse_name_without_verb(
    function: FunctionDefinition, namespaces: tuple[str, ...], name_words: list[str]
) -> ParsedToolName:
    """Parse a name without a verb. The verb comes from the description, or is `run`."""
    opening = tool_name_words.get_first_word(function.description)
    verb = english.COMMON_VERBS.get(opening, opening) if opening in tool_name_words.VERBS else "run"
    resource = name_words or ["tool", hashlib.sha256(function.name.encode()).hexdigest()[:8]]
    is_write = not tool_name_words.is_description_read_only(function.description, opening)
    return ParsedToolName(function.name, namespaces, tuple(resource), verb, (), is_write, has_verb=False)


def _choose_resources(parsed_names: list[ParsedToolName]) -> list[ParsedToolName]:
    """Return the parsed names with final resources, in the singular, so that tools of one resource share a group."""
    key_counts = Counter(parsed.resource_key for parsed in parsed_names)
    parsed_names = [
        _move_under_shared_resource(parsed, key_counts) if key_counts[parsed.resource_key] == 1 else parsed
        for parsed in parsed_names
    ]
    if len({parsed.resource_key for parsed in parsed_names}) > MAX_CHILDREN:
        parsed_names = _merge_small_resources(parsed_names)
    return [replace(parsed, resource=parsed.resource_key) for parsed in parsed_names]


def _move_under_shared_resource(parsed: ParsedToolName, key_counts: Counter[tuple[str, ...]]) -> ParsedToolName:
    """Move a resource with one tool under one that other tools have: stock_price.get becomes stock.get_price."""
    for length in range(len(parsed.resource) - 1, 0, -1):
        shorter = _shorten_resource(parsed, length)
        if shorter is not parsed and key_counts[shorter.resource_key]:
            return shorter
    return parsed


def _merge_small_resources(parsed_names: list[ParsedToolName]) -> list[ParsedToolName]:
    """Group resources under a first word that several of them share, unless that group gets too large."""
    keys = Counter(key[0] for key in {parsed.resource_key for parsed in parsed_names} if key)
    ops = Counter(tool_name_words.to_singular(parsed.resource[0]) for parsed in parsed_names if parsed.resource)
    first = {
        word for word, count in keys.items() if count > 1 and ops[tool_name_words.to_singular(word)] <= MAX_CHILDREN
    }
    return [
        _shorten_resource(each, 1) if len(each.resource_key) > 1 and each.resource_key[0] in first else each
        for each in parsed_names
    ]


def _shorten_resource(parsed: ParsedToolName, length: int) -> ParsedToolName:
    """Return the parsed name with a shorter resource, or unchanged if the result would not read well."""
    if not parsed.has_verb or parsed.resource[length] in ("and", "or", "of"):
        return parsed
    qualifier = (*parsed.resource[length:], *parsed.qualifier)
    return replace(parsed, resource=parsed.resource[:length], qualifier=qualifier)
