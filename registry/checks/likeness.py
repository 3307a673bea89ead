"""Find summaries that say nearly the same, among thousands.

Two summaries are similar if they share the words that distinguish ops. A word weighs more if fewer summaries have it.
Summaries above the similarity limit always share one of their heaviest words, so an inverted index of those few words
finds them (prefix filtering).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import islice
from math import log

from registry.search import words

ALIKE = 0.88  # share of the weight of all words of two summaries that they have in common
LOOKED_AT = 1_000  # summaries compared with one; bounds the time for a catalog of near-duplicates

# Words that search ignores, but that can reverse the meaning of a summary.
_TURNING = frozenset(("in", "out", "on", "off", "up", "down", "from", "to", "over", "again"))

Words = frozenset[str]


class Index:
    """An index of summaries by their words."""

    def __init__(self, summaries: Mapping[str, str]) -> None:
        """Take {path: summary}."""
        self._paths: dict[Words, list[str]] = defaultdict(list)
        for path, summary in summaries.items():
            self._paths[words_of(summary)].append(path)
        held = Counter(word for said, paths in self._paths.items() for word in said for _ in paths)
        self._weights = {word: log(1 + len(summaries) / times) for word, times in held.items()}
        self._rarest = log(1 + len(summaries))
        self._totals = {said: self._weigh(said) for said in self._paths}
        self._leading: dict[str, list[Words]] = defaultdict(list)
        for said in self._paths:
            for word in self._weightiest(said):
                self._leading[word].append(said)

    def alike(self, path: str, summary: str) -> list[str]:
        """Return the paths of other ops whose summaries say nearly the same, most similar first."""
        said = words_of(summary)
        if not said or not self._paths:
            return []
        led = dict.fromkeys(other for word in self._weightiest(said) for other in self._leading.get(word, ()))
        least = self._least_shared(said)
        near = (other for other in islice(led, LOOKED_AT) if len(said & other) >= least)
        likeness = {other: self._likeness(said, other) for other in near} | {said: 1.0}
        ordered = sorted((other for other in likeness if likeness[other] >= ALIKE), key=lambda each: -likeness[each])
        return [other for each in ordered for other in self._paths.get(each, ()) if other != path]

    def _weightiest(self, said: Words) -> list[str]:
        """Return the heaviest words, heaviest first. A summary that shares none of them cannot be similar."""
        ordered = sorted(said, key=lambda word: (-self._weights.get(word, self._rarest), word))
        left = self._weigh(said)
        bound = ALIKE * left
        for count, word in enumerate(ordered):
            if left < bound:
                return ordered[:count]
            left -= self._weights.get(word, self._rarest)
        return ordered

    def _least_shared(self, said: Words) -> int:
        """Return the least number of words that a similar summary must share."""
        lightest = min(self._weights.get(word, self._rarest) for word in said)
        return len(said) - int((1 - ALIKE) * self._weigh(said) / lightest)

    def _likeness(self, one: Words, other: Words) -> float:
        shared = self._weigh(one & other)
        return shared / (self._weigh(one) + self._totals[other] - shared)

    def _weigh(self, said: Words) -> float:
        return sum([self._weights.get(word, self._rarest) for word in said])


def words_of(summary: str) -> Words:
    """Return the stems by which a summary is compared."""
    said = (word if word in _TURNING else words.stem(word) for word in words.split(summary))
    return frozenset(said) - {"", words.BREAK}
