"""Match two sequences for a diff in about linear time.

difflib takes cubic time for texts that repeat a word or a line: half a minute for a thousand equal words. So expensive
inputs are first matched by the items that occur once on both sides (as in patience diff), and difflib gets the gaps.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import Match, SequenceMatcher

MAX_WORK = 3_000_000  # estimated steps of difflib for one diff: at most about 0.1 seconds

Gap = tuple[int, int, int, int]  # its start and end in one side, then in the other


class BoundedMatcher(SequenceMatcher[str]):
    """A SequenceMatcher whose time is limited. What it has no time for counts as different."""

    def __init__(self, is_junk: Callable[[str], bool] | None, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(is_junk, before, after, autojunk=False)
        self._before, self._after, self._is_junk = before, after, is_junk
        self._work_left = MAX_WORK
        self._blocks: list[Match] | None = None

    def get_matching_blocks(self) -> list[Match]:
        """Return the matching stretches in order; the last one is empty, at both ends."""
        if self._blocks is None:
            size, other_size = len(self._before), len(self._after)
            found = self._match((0, size, 0, other_size), is_whole=True)
            self._blocks = [*_join_adjacent(found), Match(size, other_size, 0)]
        return self._blocks

    def _match(self, gap: Gap, *, is_whole: bool) -> Iterator[Match]:
        start, end, other_start, other_end = gap
        while start < end and other_start < other_end and self._before[start] == self._after[other_start]:
            start, other_start = start + 1, other_start + 1
        while start < end and other_start < other_end and self._before[end - 1] == self._after[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        yield Match(gap[0], gap[2], start - gap[0])
        items, others = self._before[start:end], self._after[other_start:other_end]
        work = self._estimate_work(items, others)
        if work <= self._work_left:
            self._work_left -= work
            blocks = SequenceMatcher(self._is_junk, items, others, autojunk=False).get_matching_blocks()
            yield from (Match(start + each.a, other_start + each.b, each.size) for each in blocks)
        elif is_whole:
            ends = [*_find_anchors(items, others), (len(items), len(others))]
            for (last, other_last), (place, other_place) in zip([(0, 0), *ends], ends, strict=False):
                inner = start + last, start + place, other_start + other_last, other_start + other_place
                yield from self._match(inner, is_whole=False)
        yield Match(end, other_end, gap[1] - end)

    def _estimate_work(self, items: Sequence[str], others: Sequence[str]) -> int:
        """Return the most steps that difflib takes: it looks at all pairs of equal items once for each match."""
        counts, other_counts = Counter(items), Counter(others)
        is_junk = self._is_junk or (lambda _: False)
        pairs = sum(times * other_counts[each] for each, times in counts.items() if not is_junk(each))
        return (len(items) + len(others) + pairs) * min(len(items), len(others))


def _find_anchors(items: Sequence[str], others: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of items that each side has once: the most of them that are in the same order in both."""
    counts, other_counts = Counter(items), Counter(others)
    other_places = {each: place for place, each in enumerate(others) if other_counts[each] == 1}
    unique = {each for each, times in counts.items() if times == 1 and each in other_places}
    pairs = [(place, other_places[each]) for place, each in enumerate(items) if each in unique]
    # The longest increasing subsequence: for each length, the smallest place that one ends in, and what came before.
    last_places: list[int] = []
    last_pairs: list[int] = []
    previous: list[int] = []
    for index, (_, other_place) in enumerate(pairs):
        length = bisect_left(last_places, other_place)
        previous.append(last_pairs[length - 1] if length else -1)
        last_places[length : length + 1] = [other_place]
        last_pairs[length : length + 1] = [index]
    anchors = []
    index = last_pairs[-1] if last_pairs else -1
    while index >= 0:
        anchors.append(pairs[index])
        index = previous[index]
    return anchors[::-1]


def _join_adjacent(blocks: Iterator[Match]) -> list[Match]:
    """Return the blocks that are not empty; those that follow each other on both sides become one."""
    joined: list[Match] = []
    for each in blocks:
        last = joined[-1] if joined else None
        if last and (last.a + last.size, last.b + last.size) == (each.a, each.b):
            joined[-1] = Match(last.a, last.b, last.size + each.size)
        elif each.size:
            joined.append(each)
    return joined
