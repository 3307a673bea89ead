"""Search ops by words, in process and without a service (docs/adr/0011)."""

from dataclasses import dataclass
from itertools import islice

from registry.catalog import cache
from registry.catalog.model import Catalog, CatalogView
from registry.models import ROOT
from registry.search import op_embeddings, tokenizer
from registry.search.index import SearchIndex

MAX_GROUPS = 5
DEFAULT_LIMIT = 8
MIN_RESULTS = 5  # of a search without a limit, if as many match
MIN_SHARE = 0.5  # of the best score, for the results after those; hardly any right op has less


@dataclass(frozen=True)
class _GroupStems:
    """The stems of each group's path and summary."""

    stems: dict[str, frozenset[str]]


@dataclass(frozen=True)
class _NameLookup:
    """Paths by name, without punctuation and case. A name that matches several ops is left out."""

    paths: dict[str, str]


@dataclass(frozen=True)
class SearchResult:
    """The paths of the ops found, best first, and whether the best one is likely to be meant."""

    paths: list[str]
    is_clear: bool = True


def search_ops(
    catalog: Catalog, view: CatalogView, query: str, *, limit: int | None = None, use_endpoint: bool = True
) -> SearchResult:
    """Return what a search shows. Without a limit, ops that are much worse than the best are left out at the end.

    The embeddings endpoint is asked unless a name matches or `use_endpoint` is false.
    """
    exact = _find_exact_match(catalog, query)
    ranking = get_index(catalog).rank(query, use_endpoint=use_endpoint and not exact)
    shares = {path: share for path, share in ({exact: 1.0} | ranking.shares).items() if path in view.ops}
    shown = list(islice(shares, limit or DEFAULT_LIMIT))
    if limit is None:
        shown = [*shown[:MIN_RESULTS], *(path for path in shown[MIN_RESULTS:] if shares[path] >= MIN_SHARE)]
    return SearchResult(shown, is_clear=exact in view.ops or ranking.is_clear)


def find_ops(catalog: Catalog, view: CatalogView, query: str, *, limit: int, use_endpoint: bool = True) -> list[str]:
    """Return at most `limit` visible paths, best first. Empty if nothing matches.

    A match of an op's path, tool name or alias comes first, also if it is spelled differently. A retired op's name
    finds its successor. The embeddings endpoint is asked unless a name matches or `use_endpoint` is false.
    """
    exact = _find_exact_match(catalog, query)
    ranked = get_index(catalog).rank(query, use_endpoint=use_endpoint and not exact).shares
    exact_matches = [exact] if exact else []
    visible = (path for path in dict.fromkeys([*exact_matches, *ranked]) if path in view.ops)
    return list(islice(visible, limit))


def find_nearest_groups(catalog: Catalog, view: CatalogView, query: str, *, limit: int = MAX_GROUPS) -> list[str]:
    """Return the visible groups that share most words with a query, else those of the root. For a search miss."""
    stems = catalog.get_or_derive(_GroupStems, lambda: _build_group_stems(catalog)).stems
    query_stems = {tokenizer.stem(word) for word in tokenizer.split_words(query)} - {""}
    shared = {path: len(query_stems & stems.get(path, frozenset())) for path in view.children if path != ROOT}
    matching = sorted((path for path, count in shared.items() if count), key=lambda path: (-shared[path], path))
    return matching[:limit] or [path for path in view.children[ROOT] if path in view.counts][:limit]


def get_index(catalog: Catalog) -> SearchIndex:
    """Return the index of a catalog. It is built at first use and cached with the catalog."""
    return catalog.get_or_derive(SearchIndex, lambda: SearchIndex(catalog.ops.values()))


def refresh_embeddings() -> None:
    """Send the ops of all searched catalogs to the embeddings endpoint, and load the vectors. Called often."""
    indexes = [catalog.get_derived(SearchIndex) for catalog in cache.list_loaded()]
    op_embeddings.start_sending_when_due([index.embeddings for index in indexes if index is not None])


def warm_catalog(catalog: Catalog) -> None:
    """Build what searches of a catalog need, before the first search."""
    get_index(catalog).embeddings.load_stored()
    catalog.get_or_derive(_GroupStems, lambda: _build_group_stems(catalog))
    catalog.get_or_derive(_NameLookup, lambda: _build_name_lookup(catalog))


def _find_exact_match(catalog: Catalog, query: str) -> str | None:
    """Return the path of the op that a query names, or of its successor."""
    name = query.strip()
    path = catalog.names.get(name) or catalog.get_or_derive(_NameLookup, lambda: _build_name_lookup(catalog)).paths.get(
        tokenizer.normalise_name(name)
    )
    seen = set()
    while path in catalog.ops and not catalog.ops[path].is_active and path not in seen:
        seen.add(path)
        path = catalog.ops[path].successor
    return path


def _build_name_lookup(catalog: Catalog) -> _NameLookup:
    paths: dict[str, str] = {}
    for name, path in catalog.names.items():
        normalised = tokenizer.normalise_name(name)
        paths[normalised] = path if paths.get(normalised, path) == path else ""
    return _NameLookup({name: path for name, path in paths.items() if name and path})


def _build_group_stems(catalog: Catalog) -> _GroupStems:
    return _GroupStems(
        {
            path: frozenset(tokenizer.stem(word) for word in tokenizer.split_words(f"{path} {summary}")) - {""}
            for path, summary in catalog.groups.items()
        }
    )
