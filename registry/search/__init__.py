"""Search ops by words, in process and without a service (docs/adr/0011)."""

from dataclasses import dataclass
from itertools import islice

from registry.catalogs import Catalog, View
from registry.models import ROOT
from registry.search import words
from registry.search.index import Index

GROUPS = 5


@dataclass(frozen=True)
class _Groups:
    """The stems of each group's path and summary."""

    stems: dict[str, frozenset[str]]


@dataclass(frozen=True)
class _Names:
    """Paths by name, without punctuation and case. A name that matches several ops is left out."""

    paths: dict[str, str]


def find(catalog: Catalog, view: View, query: str, *, limit: int) -> list[str]:
    """Return at most `limit` visible paths, best first. Empty if nothing matches.

    A match of an op's path, tool name or alias comes first, also if it is spelled differently. A retired op's name
    finds its successor.
    """
    exact = _exact(catalog, query)
    ranked = index_of(catalog).ranked(query)
    named = [exact] if exact else []
    visible = (path for path in dict.fromkeys([*named, *ranked]) if path in view.ops)
    return list(islice(visible, limit))


def nearest_groups(catalog: Catalog, view: View, query: str, *, limit: int = GROUPS) -> list[str]:
    """Return the visible groups that share most words with a query, else those of the root. For a search miss."""
    stems = catalog.derived(_Groups, lambda: _groups(catalog)).stems
    wanted = {words.stem(word) for word in words.split(query)} - {""}
    shared = {path: len(wanted & stems.get(path, frozenset())) for path in view.children if path != ROOT}
    found = sorted((path for path, count in shared.items() if count), key=lambda path: (-shared[path], path))
    return found[:limit] or [path for path in view.children[ROOT] if path in view.counts][:limit]


def index_of(catalog: Catalog) -> Index:
    """Return the index of a catalog. It is built at first use and cached with the catalog."""
    return catalog.derived(Index, lambda: Index(catalog.ops.values()))


def warm(catalog: Catalog) -> None:
    """Build what searches of a catalog need, before the first search."""
    index_of(catalog)
    catalog.derived(_Groups, lambda: _groups(catalog))
    catalog.derived(_Names, lambda: _names(catalog))


def _exact(catalog: Catalog, query: str) -> str | None:
    """Return the path of the op that a query names, or of its successor."""
    name = query.strip()
    path = catalog.names.get(name) or catalog.derived(_Names, lambda: _names(catalog)).paths.get(words.bare(name))
    seen = set()
    while path in catalog.ops and not catalog.ops[path].is_active and path not in seen:
        seen.add(path)
        path = catalog.ops[path].successor
    return path


def _names(catalog: Catalog) -> _Names:
    found: dict[str, str] = {}
    for name, path in catalog.names.items():
        bare = words.bare(name)
        found[bare] = path if found.get(bare, path) == path else ""
    return _Names({name: path for name, path in found.items() if name and path})


def _groups(catalog: Catalog) -> _Groups:
    return _Groups(
        {
            path: frozenset(words.stem(word) for word in words.split(f"{path} {summary}")) - {""}
            for path, summary in catalog.groups.items()
        }
    )
