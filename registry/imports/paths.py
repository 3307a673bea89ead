"""Derive readable paths, `group.resource.verb`, from tool names."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from registry.imports import words
from registry.imports.documents import Function
from registry.models import parent_of

MAX_CHILDREN = 50  # of a group; above this, small resources are grouped under their first word
MAX_SEGMENT = 48
MAX_PATH = 200
SHARED = 3  # names that must begin with a word before it counts as a common prefix

_SPACES = re.compile(r"__+|[./:\\]+")


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed tool name: its resource, its verb, and what narrows them."""

    name: str
    spaces: tuple[str, ...]  # namespaces in the name, as in auth0.updateUser
    resource: tuple[str, ...]
    verb: str
    rest: tuple[str, ...] = ()  # by, email in get_user_by_email
    is_write: bool = True
    is_plural: bool = False
    is_spelled: bool = True  # the name has a verb; without one, the resource is never shortened

    @property
    def key(self) -> tuple[str, ...]:
        """The resource in the singular, by which tools are grouped: `contact` and `contacts` are equal."""
        return (*self.resource[:-1], words.singular(self.resource[-1])) if self.resource else ()

    @property
    def leaf(self) -> str:
        return segment((*self.verb.split("_"), *self.rest))

    @property
    def entity(self) -> str:
        return segment(self.key) if self.key else ""

    @property
    def action(self) -> str:
        return words.ACTIONS.get(self.verb, self.verb)


@dataclass
class Tree:
    """The names that are taken. A path belongs to one op or one group."""

    taken: set[str]
    groups: set[str] = field(default_factory=set)

    def group(self, path: str) -> str:
        """Return a path that is or can become a group: this one, or with a number appended."""
        return _numbered(path, lambda wanted: wanted in self.groups or wanted not in self.taken)

    def op(self, *wanted: str) -> str:
        """Take and return a free path for an op: the first free one, or the last with a number appended."""
        free = next((path for path in wanted if self.is_free(path)), None) or _numbered(wanted[-1], self.is_free)
        self.taken.add(free)
        above = parent_of(free)
        while above not in self.groups:
            self.groups.add(above)
            above = parent_of(above)
        return free

    def is_free(self, path: str) -> bool:
        """Return whether no op and no group has this name."""
        return path not in self.taken and path not in self.groups


def readings(functions: Iterable[Function], group: str) -> dict[str, Reading]:
    """Return {tool name: parsed name}. Namespaces and a prefix that all names of the list share are dropped."""
    listed = list(functions)
    spaced = {function.name: [part for part in _SPACES.split(function.name) if part] for function in listed}
    common = _common(list(spaced.values()))
    parted = {name: [words.split(part) for part in parts[common:]] for name, parts in spaced.items()}
    known = {tuple(words.split(group.rpartition(".")[2]))}
    known |= {(word,) for word in _prefixes(parts[-1] for parts in parted.values() if parts)}
    return {function.name: _read(function, parted[function.name], known) for function in listed}


def assign(found: dict[str, Reading], group: str, tree: Tree, *, kept: dict[str, str]) -> dict[str, str]:
    """Return {tool name: path} and take these paths in the tree. The paths in `known_paths` stay unchanged."""
    spaces: dict[tuple[str, ...], list[Reading]] = defaultdict(list)
    for reading in found.values():
        spaces[reading.spaces].append(reading)
    assigned = {name: path for name, path in kept.items() if name in found}
    for parts, members in spaces.items():
        base = tree.group(".".join((group, *parts))[: MAX_PATH // 2].rstrip("."))
        new = [reading for reading in _settled(members) if reading.name not in kept]
        for reading in sorted(new, key=lambda reading: reading.is_plural):  # get_contact chooses before get_contacts
            parent = tree.group(f"{base}.{segment(reading.resource)}") if reading.resource else base
            leaves = [reading.leaf, "list"] if reading.verb == "get" and reading.is_plural else [reading.leaf]
            assigned[reading.name] = tree.op(*(f"{parent}.{leaf}"[:MAX_PATH] for leaf in leaves))
    return assigned


def segment(parts: Iterable[str]) -> str:
    """Join words into a path segment: lower-case ASCII, a letter first, cut between words."""
    text = ""
    for part in parts:
        longer = f"{text}_{part}" if text else part[:MAX_SEGMENT]
        if len(longer) > MAX_SEGMENT:
            break
        text = longer
    return text if text[:1].isalpha() else f"n{text}"


def _numbered(path: str, is_free: Callable[[str], bool]) -> str:
    wanted, number = path, 1
    while not is_free(wanted):
        number += 1
        wanted = f"{path[: MAX_PATH - 6]}_{number}"
    return wanted


def _common(parted: Sequence[Sequence[str]]) -> int:
    """Return how many leading namespaces all names share."""
    if len(parted) < 2 or min(map(len, parted)) < 2:
        return 0
    levels = zip(*(parts[:-1] for parts in parted), strict=False)
    return sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))


def _prefixes(named: Iterable[list[str]]) -> set[str]:
    """Return the word that all names begin with, unless it is a verb, as in github_create_issue, github_list_issues."""
    firsts = Counter(each[0] if each else "" for each in named)
    first, times = firsts.most_common(1)[0] if firsts else ("", 0)
    return {first} if len(firsts) == 1 and times >= SHARED and first not in words.VERBS else set()


def _read(function: Function, parts: list[list[str]], known: set[tuple[str, ...]]) -> Reading:
    spaces = tuple(segment(part) for part in parts[:-1] if part)
    said = _undoubled(parts[-1] if parts else [])
    for prefix in known:
        if prefix and len(said) > len(prefix) and tuple(said[: len(prefix)]) == prefix:
            said = said[len(prefix) :]
    place = words.verb_at(said, function.description)
    if place is None:
        return _without_verb(function, spaces, said)
    verb, before, after = said[place], said[:place], said[place + 1 :]
    while len(after) > 1 and after[0] in ("or", "and"):  # get_or_create_user
        verb, after = f"{verb}_{after[0]}_{after[1]}", after[2:]
    resource, rest = (before, after) if before else _narrowed(after)
    if not resource and spaces:
        spaces, resource = spaces[:-1], [spaces[-1]]
    is_plural = bool(resource) and not rest and words.singular(resource[-1]) != resource[-1]
    is_write = words.changes(said, said[place])
    return Reading(function.name, spaces, tuple(resource), verb, tuple(rest), is_write, is_plural)


def _without_verb(function: Function, spaces: tuple[str, ...], said: list[str]) -> Reading:
    """Parse a name without a verb. The verb comes from the description, or is `run`."""
    opening = words.opening(function.description)
    verb = words.ACTIONS.get(opening, opening) if opening in words.VERBS else "run"
    resource = said or ["tool", hashlib.sha256(function.name.encode()).hexdigest()[:8]]
    is_write = not words.only_looks(function.description, opening)
    return Reading(function.name, spaces, tuple(resource), verb, (), is_write, is_spelled=False)


def _narrowed(nouns: list[str]) -> tuple[list[str], list[str]]:
    """Split nouns into (resource, what narrows it), such as (users, all) and (user, by email)."""
    everything = ["all"] if nouns[:1] == ["all"] else []
    nouns = nouns[len(everything) :]
    while nouns and (nouns[0] in words.PREPOSITIONS or nouns[0] in words.ARTICLES):
        nouns = nouns[1:]
    cut = next((place for place, word in enumerate(nouns) if word in words.PREPOSITIONS), len(nouns))
    return nouns[:cut], everything + nouns[cut:]


def _undoubled(said: list[str]) -> list[str]:
    """Drop repeated leading words, as in the generated name CountryCountryInfo."""
    keys = list(map(words.singular, said))
    half = next((n for n in range(len(said) // 2, 0, -1) if keys[:n] == keys[n : 2 * n]), 0)
    return said[half:]


def _settled(members: list[Reading]) -> list[Reading]:
    """Return the parsed names with final resources, so that tools of one resource share a group."""
    times = Counter(reading.key for reading in members)
    members = [_under_known(reading, times) if times[reading.key] == 1 else reading for reading in members]
    if len({reading.key for reading in members}) > MAX_CHILDREN:
        members = _gathered(members)
    forms: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for reading in members:
        forms[reading.key].add(reading.resource)
    return [reading if len(forms[reading.key]) == 1 else replace(reading, resource=reading.key) for reading in members]


def _under_known(reading: Reading, times: Counter[tuple[str, ...]]) -> Reading:
    """Move a resource with one tool under one that other tools have: stock_price.get becomes stock.get_price."""
    for length in range(len(reading.resource) - 1, 0, -1):
        shorter = _cut(reading, length)
        if shorter is not reading and times[shorter.key]:
            return shorter
    return reading


def _gathered(members: list[Reading]) -> list[Reading]:
    """Group resources under a first word that several of them share, unless that group gets too large."""
    keys = Counter(key[0] for key in {reading.key for reading in members} if key)
    ops = Counter(words.singular(reading.resource[0]) for reading in members if reading.resource)
    first = {word for word, count in keys.items() if count > 1 and ops[words.singular(word)] <= MAX_CHILDREN}
    return [_cut(each, 1) if len(each.key) > 1 and each.key[0] in first else each for each in members]


def _cut(reading: Reading, length: int) -> Reading:
    """Return the parsed name with a shorter resource, or unchanged if the result would not read well."""
    if not reading.is_spelled or reading.resource[length] in ("and", "or", "of"):
        return reading
    rest = (*reading.resource[length:], *reading.rest)
    return replace(reading, resource=reading.resource[:length], rest=rest)
