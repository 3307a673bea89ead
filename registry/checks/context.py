"""Prepare all other ops once, so that one op can be checked against them, and find near copies.

Two summaries are similar if they share the words that distinguish ops. A word weighs more if fewer summaries have it.
Summaries above the similarity limit always share one of their heaviest words, so an inverted index of those few words
finds them (prefix filtering).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import log
from typing import Any

from django.db.models import Count, Max

from audit.models import AuditEntry
from registry.checks import errors, text_locations
from registry.models import ROOT, Group, Op, OpAlias, get_parent_path
from registry.search import tokenizer
from registry.snapshot import snapshot
from registry.snapshot.entries import OpEntry, Snapshot

MIN_SIMILARITY = 0.88  # share of the weight of all words of two summaries that they have in common
MAX_COMPARED = 1_000  # summaries compared with one; bounds the time for a catalog of near-duplicates
MAX_SIMILAR = 100  # ops that are returned for one; thousands may have the same summary

# Words that search ignores, but that can reverse the meaning of a summary.
_DIRECTION_WORDS = frozenset(("in", "out", "on", "off", "up", "down", "from", "to", "over", "again"))
WordSet = frozenset[str]


class SummaryIndex:
    """An index of summaries by their words."""

    def __init__(self, summaries: Mapping[str, str]) -> None:
        """Take {path: summary}."""
        self._paths_by_words: dict[WordSet, list[str]] = defaultdict(list)
        for path, summary in summaries.items():
            self._paths_by_words[extract_words(summary)].append(path)
        frequencies = Counter(
            word for word_set, paths in self._paths_by_words.items() for word in word_set for _ in paths
        )
        self._weights = {word: log(1 + len(summaries) / times) for word, times in frequencies.items()}
        self._unknown_weight = log(1 + len(summaries))
        self._total_weights = {word_set: self._sum_weights(word_set) for word_set in self._paths_by_words}
        self._words_by_heavy_word: dict[str, list[WordSet]] = defaultdict(list)
        for word_set in self._paths_by_words:
            for word in self._select_heaviest_words(word_set):
                self._words_by_heavy_word[word].append(word_set)

    def find_similar(self, path: str, summary: str) -> list[str]:
        """Return the paths of up to MAX_SIMILAR other ops whose summaries say nearly the same, most similar first."""
        word_set = extract_words(summary)
        if not word_set or not self._paths_by_words:
            return []
        candidates = dict.fromkeys(
            other for word in self._select_heaviest_words(word_set) for other in self._words_by_heavy_word.get(word, ())
        )
        min_shared = self._count_least_shared(word_set)
        compared = (other for other in islice(candidates, MAX_COMPARED) if len(word_set & other) >= min_shared)
        similarity = {other: self._compute_similarity(word_set, other) for other in compared} | {word_set: 1.0}
        ordered = sorted(
            (other for other in similarity if similarity[other] >= MIN_SIMILARITY), key=lambda each: -similarity[each]
        )
        others = (other for each in ordered for other in self._paths_by_words.get(each, ()) if other != path)
        return list(islice(others, MAX_SIMILAR))

    def _select_heaviest_words(self, word_set: WordSet) -> list[str]:
        """Return the heaviest words, heaviest first. A summary that shares none of them cannot be similar."""
        ordered = sorted(word_set, key=lambda word: (-self._weights.get(word, self._unknown_weight), word))
        weight_left = self._sum_weights(word_set)
        bound = MIN_SIMILARITY * weight_left
        for count, word in enumerate(ordered):
            if weight_left < bound:
                return ordered[:count]
            weight_left -= self._weights.get(word, self._unknown_weight)
        return ordered

    def _count_least_shared(self, word_set: WordSet) -> int:
        """Return the least number of words that a similar summary must share."""
        lightest = min(self._weights.get(word, self._unknown_weight) for word in word_set)
        return len(word_set) - int((1 - MIN_SIMILARITY) * self._sum_weights(word_set) / lightest)

    def _compute_similarity(self, one: WordSet, other: WordSet) -> float:
        shared = self._sum_weights(one & other)
        return shared / (self._sum_weights(one) + self._total_weights[other] - shared)

    def _sum_weights(self, word_set: WordSet) -> float:
        return sum([self._weights.get(word, self._unknown_weight) for word in word_set])


def extract_words(summary: str) -> WordSet:
    """Return the stems that summaries are compared by."""
    stems = (word if word in _DIRECTION_WORDS else tokenizer.stem(word) for word in tokenizer.split_words(summary))
    return frozenset(stems) - {"", tokenizer.BREAK}


@dataclass(frozen=True)
class CheckContext:
    """A snapshot as the checks of one op need it. Immutable: build a new one when the draft changes."""

    ops: dict[str, OpEntry]
    groups: frozenset[str]
    names: dict[str, str]  # every path, tool name and alias -> path
    imported: frozenset[str] = frozenset()  # paths of ops with untrusted text

    @classmethod
    def from_content(cls, content: Snapshot, *, imported: Collection[str] = ()) -> "CheckContext":
        """Prepare a snapshot. `imported` has the paths of ops that were imported from a list of functions."""
        ops = {op["op"]: op for op in content["ops"]}
        groups = frozenset([ROOT, *(group["path"] for group in content["groups"])])
        names = {name: path for path, op in ops.items() for name in errors.list_op_names(op)}
        return cls(ops, groups, names, frozenset(imported))

    @classmethod
    def from_draft(cls) -> "CheckContext":
        """Prepare the draft, with only the parts of its ops that other ops are checked against (snapshot.outline)."""
        return cls.from_content(snapshot.outline_draft(), imported=get_imported_paths())

    def without_op(self, path: str) -> "CheckContext":
        """Return this context without one op, such as an op whose path changes."""
        ops = {name: entry for name, entry in self.ops.items() if name != path}
        names = {name: owner for name, owner in self.names.items() if owner != path}
        return CheckContext(ops, self.groups, names, self.imported)

    @cached_property
    def top_level_names(self) -> frozenset[str]:
        """The first segments of all paths, such as onto, util and cal."""
        return frozenset(path.partition(".")[0] for path in self.groups if get_parent_path(path) == ROOT)

    @cached_property
    def summary_index(self) -> SummaryIndex:
        """The summaries of all active ops."""
        active = (op for op in self.ops.values() if op.get("status", Op.Status.ACTIVE) == Op.Status.ACTIVE)
        return SummaryIndex({op["op"]: op["summary"] for op in active})

    def is_known_name(self, word: str) -> bool:
        """Return whether a word is an argument or a name of any op, so that prose may mention it elsewhere."""
        return word in self._known_words

    def iter_ops_named(self, names: Iterable[str]) -> Iterator[OpEntry]:
        """Yield the entries of the ops with these names."""
        for name in names:
            if (path := self.names.get(name)) is not None:
                yield self.ops[path]

    def list_siblings(self, path: str) -> list[str]:
        """Return the paths of the ops in the group of a path; the path itself need not exist."""
        return self._ops_by_group.get(get_parent_path(path), [])

    def get_argument_names(self, op: OpEntry) -> frozenset[str]:
        """Return every name that a call of an op may send (see text_locations.collect_argument_names)."""
        path = op["op"]
        if path not in self._argument_names:
            self._argument_names[path] = text_locations.collect_argument_names(op)
        return self._argument_names[path]

    @cached_property
    def _known_words(self) -> frozenset[str]:
        return frozenset(self.names).union(*map(self.get_argument_names, self.ops.values()))

    @cached_property
    def _argument_names(self) -> dict[str, frozenset[str]]:
        return {}  # path of an op -> its names, for those that were requested

    @cached_property
    def _ops_by_group(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = defaultdict(list)
        for path in self.ops:
            groups[get_parent_path(path)].append(path)
        return groups


def get_current_context() -> CheckContext:
    """Return the context of the draft for checks during typing, from memory if the draft did not change.

    Costs four small queries if it is in memory.
    """
    global _cached_context
    stamp = _read_draft_stamp()
    if _cached_context is None or _cached_context[0] != stamp:
        _cached_context = (stamp, CheckContext.from_draft())
    return _cached_context[1]


_cached_context: tuple[tuple[Any, ...], CheckContext] | None = None


def _read_draft_stamp() -> tuple[Any, ...]:
    """Return a value that differs after any change of names, summaries or schemas."""
    model_changes = (model.objects.aggregate(last=Max("updated_at"), count=Count("pk")) for model in (Op, Group))
    aliases = OpAlias.objects.aggregate(last=Max("pk"), count=Count("pk"))
    last_audit_id = AuditEntry.objects.order_by("-id").values_list("id", flat=True).first()
    return *((each["last"], each["count"]) for each in (*model_changes, aliases)), last_audit_id


def get_imported_paths() -> frozenset[str]:
    """Return the paths of the draft's ops that were imported from a list of functions."""
    return frozenset(Op.objects.exclude(source="").values_list("op", flat=True))
