"""Finding ops by words: a plain fielded index over a release, ranked by BM25F."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from registry.catalogs import Catalog, CatalogOp, View
from registry.models import ROOT

# How much a word counts by where it stands: in the name, among the keywords, in what the model reads, in arguments.
WEIGHTS = {"name": 5.0, "keywords": 3.0, "summary": 2.0, "arguments": 1.0, "description": 0.7}
SATURATION = 1.2  # BM25's k1: how soon the second mention of a word stops counting

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP = frozenset(
    [
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "i", "in", "is", "it"),
        *("me", "my", "of", "on", "or", "the", "to", "we", "what", "with", "you"),
    ]
)


@dataclass(frozen=True)
class Index:
    """Postings of one catalog: {word: {path: weighted count}} and each word's rarity."""

    postings: dict[str, dict[str, float]]
    rarity: dict[str, float]


def find(catalog: Catalog, view: View, query: str, *, limit: int) -> list[str]:
    """Return at most `limit` visible paths, best first. An exact path, alias or tool name comes before all."""
    scores: dict[str, float] = defaultdict(float)
    index: Index = catalog.derived(Index, lambda: build(catalog.ops.values()))
    for word in dict.fromkeys(words(query)):
        for path, weight in index.postings.get(word, {}).items():
            scores[path] += index.rarity[word] * weight * (SATURATION + 1) / (weight + SATURATION)
    exact = catalog.names.get(query.strip())
    if exact:
        scores[exact] = math.inf
    ranked = sorted((path for path in scores if path in view.ops), key=lambda path: (-scores[path], path))
    return ranked[:limit]


def nearest_groups(catalog: Catalog, view: View, query: str, *, limit: int = 5) -> list[str]:
    """Return the visible groups nearest to a query that found no op: by shared words, else the root's."""
    wanted = set(words(query))
    shared = {
        path: len(wanted & set(words(f"{path} {catalog.groups.get(path, '')}")))
        for path in view.children
        if path != ROOT
    }
    found = sorted((path for path, count in shared.items() if count), key=lambda path: (-shared[path], path))
    return found[:limit] or [path for path in view.children[ROOT] if path in view.counts][:limit]


def words(text: str) -> list[str]:
    """Return the words of a text for matching: lower-case, humps and underscores split, plurals cut, no stop words."""
    split = _HUMP.sub(" ", text[:2000])
    return [_singular(word) for word in (match.lower() for match in _WORD.findall(split)) if word not in _STOP]


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def build(ops: Iterable[CatalogOp]) -> Index:
    """Return the index of a catalog's ops."""
    postings: dict[str, dict[str, float]] = defaultdict(dict)
    listed = list(ops)
    for op in listed:
        for word, weight in _weighted(op).items():
            postings[word][op.op] = weight
    return Index(dict(postings), {word: _rarity(len(paths), len(listed)) for word, paths in postings.items()})


def _rarity(having: int, total: int) -> float:
    """BM25's inverse document frequency, never negative."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _weighted(op: CatalogOp) -> dict[str, float]:
    texts = {
        "name": f"{op.op} {op.tool_name} {' '.join(op.aliases)}",
        "keywords": " ".join(op.keywords),
        "summary": op.summary,
        "arguments": " ".join(op.arguments),
        "description": op.description,
    }
    counts: dict[str, float] = defaultdict(float)
    for field, text in texts.items():
        for word in set(words(text)):
            counts[word] += WEIGHTS[field]
    return counts
