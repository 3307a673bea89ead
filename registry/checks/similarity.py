"""Find summaries that say nearly the same, among thousands.

Two summaries are similar if they share the words that distinguish ops. A word weighs more if fewer summaries have it.
Summaries above the similarity limit always share one of their heaviest words, so an inverted index of those few words
finds them (prefix filtering).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import islice
from math import log

from registry.search import tokenizer

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
    """Return the stems by which a summary is compared."""
    stems = (word if word in _DIRECTION_WORDS else tokenizer.stem(word) for word in tokenizer.split_words(summary))
    return frozenset(stems) - {"", tokenizer.BREAK}
