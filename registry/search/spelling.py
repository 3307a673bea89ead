"""Correct typos: find the indexed word that an unknown word was probably meant to be."""

from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

MIN_LETTERS = 4  # letters; a typo in a shorter word often makes another word
TWO_TYPO_LETTERS = 8  # letters from which two typos are allowed


class Speller:
    """The words of an index by their first letter, which is rarely mistyped."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._words: dict[str, list[str]] = defaultdict(list)
        for word in vocabulary:
            if len(word) >= MIN_LETTERS and word.isalpha():
                self._words[word[0]].append(word)

    def suggest(self, word: str) -> str | None:
        """Return the nearest word within one or two typos: a wrong, missing, extra or swapped letter."""
        if len(word) < MIN_LETTERS or not word.isalpha():
            return None
        max_typos = 2 if len(word) >= TWO_TYPO_LETTERS else 1
        match = process.extractOne(word, self._words.get(word[0], ()), scorer=OSA.distance, score_cutoff=max_typos)
        return match[0] if match else None
