"""Warn of vocabulary that stands for nothing, or for two things at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from registry.checks.finding import CheckRule, Finding
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.vocabulary import (
    KEY,
    CatalogVocabulary,
    CatalogWords,
    WordKind,
    find_general_action,
    find_option,
    hides_danger,
    iterate_arguments,
)

AMBIGUOUS = CheckRule(
    "word_ambiguous",
    "A word that stands for two things: two kinds of rows, two actions, or two values of one argument. Also a "
    "word for an action that is another action of ops, or means one in general English.",
    "Keep the word for one of the two.",
)
UNKNOWN = CheckRule(
    "meaning_unknown",
    "A vocabulary entry that stands for a kind of row, an action, an argument or a value that no op has.",
    "Correct what it stands for, or delete the entry.",
)
RULES = (AMBIGUOUS, UNKNOWN)

_WordsByEntry = dict[CatalogWords, set[str]]  # words of each entry that stand for something else, too


def find_warnings(content: Mapping[str, Any], *, only: Collection[str] | None = None) -> Iterator[Finding]:
    """Yield the warnings of a snapshot's vocabulary; none if `only` names no entry of it."""
    entries = content.get(KEY, [])
    if not entries or (only is not None and set(only).isdisjoint(map(COPY_KINDS[Kind.VOCABULARY].get_name, entries))):
        return
    vocabulary, ops = CatalogVocabulary.build(entries), content["ops"]
    names = {
        WordKind.ENTITY: {op.get("entity") for op in ops},
        WordKind.ACTION: {op.get("action") for op in ops},
        WordKind.ARGUMENT: {name for op in ops for name, _ in iterate_arguments(op["parameters_schema"])},
    }
    values = _find_shared_words_of_values(vocabulary, ops)
    shared = {**values}
    for kind in (WordKind.ENTITY, WordKind.ACTION):
        shared |= _find_shared_words([row for row in vocabulary.entries if row.kind == kind])
    for row in vocabulary.entries:
        if not row.words:
            continue  # switched off
        kind = WordKind(row.kind)
        if row not in values if kind == WordKind.VALUE else row.meaning not in names[kind]:
            place = f"argument {row.argument} of {row.ops or 'any op'}" if kind == WordKind.VALUE else "op"
            yield _make_finding(UNKNOWN, row, "meaning", f"No {place} has the {kind.label} {row.meaning}.")
        for word in sorted(shared.get(row, ())):
            yield _make_finding(AMBIGUOUS, row, "words", f"{word} also stands for something else.")
        for message in _find_other_actions(row, names[WordKind.ACTION]) if kind == WordKind.ACTION else ():
            yield _make_finding(AMBIGUOUS, row, "words", message)


def _find_other_actions(row: CatalogWords, actions: Collection[str | None]) -> Iterator[str]:
    """Yield a message for each word that is another action of ops, or means one in general English."""
    for word in row.words:
        general = find_general_action(word)
        if hides_danger(word, row.meaning):
            yield f"{word} is ignored here, because it is a word for something dangerous."
        elif word in actions and word != row.meaning:
            yield f"{word} is an action of ops itself."
        elif general not in (None, row.meaning):
            yield f"{word} means {general} in general English."


def _find_shared_words_of_values(vocabulary: CatalogVocabulary, ops: Iterable[Mapping[str, Any]]) -> _WordsByEntry:
    """Return the entries of values that an argument takes, with their words that mean two values of one argument."""
    shared: _WordsByEntry = {}
    for op in ops:
        values = list(vocabulary.iterate_values(op["op"]))
        for name, argument in iterate_arguments(op["parameters_schema"]) if values else ():
            rows = [row for each in values for row in each.list_for_argument(name)]
            taken = [row for row in rows if find_option(argument, row.meaning) is not None]
            for row, words in _find_shared_words(taken).items():
                shared.setdefault(row, set()).update(words)
    return shared


def _find_shared_words(rows: Collection[CatalogWords]) -> _WordsByEntry:
    """Return each entry with those of its words that an entry with another meaning has, too."""
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for word in row.words:
            meanings[word].add(row.meaning)
    return {row: {word for word in row.words if len(meanings[word]) > 1} for row in rows}


def _make_finding(rule: CheckRule, row: CatalogWords, field: str, message: str) -> Finding:
    name = COPY_KINDS[Kind.VOCABULARY].get_name(asdict(row))
    return rule.make_finding(name, field, message, kind=Kind.VOCABULARY)
