"""Compare two texts for a person: word by word, or line by line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from registry.text.bounded_matcher import BoundedMatcher

CONTEXT_LINES = 2  # unchanged lines around a difference

# A dotted name, a number with decimals and a word with a hyphen or an apostrophe are one word.
_ENDS = ".!?"  # of sentences
_WORD = re.compile(r"\w+(?:[.\-'’]\w+)*|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A run of words that is in both texts, only in the old one, or only in the new one."""

    side: Literal["both", "before", "after"]
    text: str


LEFT_OUT = DiffPiece("both", "…\n")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of both texts, the same in both or not: where it starts and ends in each, in characters."""

    start: int
    end: int
    start_after: int
    end_after: int
    is_same: bool

    @property
    def length(self) -> int:
        return max(self.end - self.start, self.end_after - self.start_after)

    def join(self, last: "_Stretch") -> "_Stretch":
        """Return the change from the start of this stretch to the end of a later one."""
        return _Stretch(self.start, last.end, self.start_after, last.end_after, is_same=False)


def diff_words(before: str, after: str) -> tuple[DiffPiece, ...]:
    """Return the word-by-word difference of two texts, in reading order."""
    old_words, new_words = _WORD.findall(before), _WORD.findall(after)
    old_ends, new_ends = (list(accumulate(map(len, words), initial=0)) for words in (old_words, new_words))
    # Spaces are junk to the matcher: they are frequent and mean nothing.
    matcher = BoundedMatcher(str.isspace, old_words, new_words)
    stretches: list[_Stretch] = []
    for kind, start, end, start_after, end_after in matcher.get_opcodes():
        places = old_ends[start], old_ends[end], new_ends[start_after], new_ends[end_after]
        stretches.append(_Stretch(*places, is_same=kind == "equal"))
        _absorb_chance_match(stretches, before)
    return tuple(_iter_pieces(stretches, before, after))


def diff_lines(before: str, after: str, *, context: int = CONTEXT_LINES) -> tuple[DiffPiece, ...]:
    """Return the lines of two texts that differ, with the lines around them. Each line ends with a line break."""
    old_lines, new_lines = before.splitlines(), after.splitlines()
    matcher = BoundedMatcher(None, old_lines, new_lines)
    pieces: list[DiffPiece] = []
    end = 0
    for group in matcher.get_grouped_opcodes(context):
        if group[0][1] > end:
            pieces.append(LEFT_OUT)
        for kind, start, end, start_after, end_after in group:
            if kind == "equal":
                pieces.append(DiffPiece("both", _join_lines(old_lines[start:end])))
                continue
            if start < end:
                pieces.append(DiffPiece("before", _join_lines(old_lines[start:end])))
            if start_after < end_after:
                pieces.append(DiffPiece("after", _join_lines(new_lines[start_after:end_after])))
    return (*pieces, LEFT_OUT) if pieces and end < len(old_lines) else tuple(pieces)


def _absorb_chance_match(stretches: list[_Stretch], before: str) -> None:
    """Join the last two changes if what is the same between them is shorter than either, and no whole sentence.

    Rewritten sentences still share a "the" or a comma. If these were shown as kept, they would cut both into unreadable
    pieces. The rule is that of diff-match-patch (its "semantic cleanup").
    """
    while len(stretches) >= 3 and not stretches[-1].is_same and not stretches[-3].is_same:
        change, match, next_change = stretches[-3:]
        if match.length > min(change.length, next_change.length) or _has_sentence(before, match):
            return
        stretches[-3:] = [change.join(next_change)]


def _has_sentence(text: str, match: _Stretch) -> bool:
    """Return whether a stretch begins with a sentence of the old text, and ends with one or before its full stop."""
    same, previous = text[match.start : match.end].strip(), text[max(0, match.start - 2) : match.start].rstrip()
    is_ended = same[-1:] in _ENDS or text[match.end : match.end + 1] in _ENDS
    return " " in same and is_ended and (not previous or previous[-1] in _ENDS)


def _iter_pieces(stretches: Sequence[_Stretch], before: str, after: str) -> Iterator[DiffPiece]:
    for each in stretches:
        old, new = before[each.start : each.end], after[each.start_after : each.end_after]
        if old == new:
            yield DiffPiece("both", old)
            continue
        if old:
            yield DiffPiece("before", old)
        if new:
            yield DiffPiece("after", new)


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
