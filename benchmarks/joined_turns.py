"""Turns that read and change something, made from two that follow each other.

People ask for both at once more often than labelled conversations do, which have one purpose a turn:
"what is due today and move it to Friday".
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

# What stands between them, by language.
CONJUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (" and ", ", then ", ". Also ", ". "),
    "de": (" und ", ", dann ", ". Und ", ". "),
    "fr": (" et ", ", puis ", ". Et ", ". "),
    "es": (" y ", ", luego ", ". Y ", ". "),
}
OF_OTHERS = (", ", ". ")
EVERY = 2  # of all pairs
WEIGHT = 0.4  # of a turn that somebody wrote
MIN_WORDS = 3  # of the second message: shorter ones answer the assistant
SENTENCE_ENDS = "?!."


def join_turns(lines: Iterable[str]) -> Iterator[str]:
    """Yield conversations whose last turn is two turns of a labelled one, and whose other turns are given."""
    found = 0
    for line in lines:
        labels = json.loads(line)
        conjunctions = CONJUNCTIONS.get(labels.get("language", "en"), OF_OTHERS)
        for number, (first, second) in enumerate(pairwise(labels["turns"])):
            if not _can_be_joined(first, second):
                continue
            found += 1
            if found % EVERY:
                continue
            joined = {
                "message": _join(first["message"], second["message"], conjunctions[found // EVERY % len(conjunctions)]),
                "needs": [*first["needs"], *(need for need in second["needs"] if need not in first["needs"])],
                "intent": "mixed",
            }
            given = [turn | {"given": True} for turn in labels["turns"][:number]]
            yield json.dumps(labels | {"weight": labels.get("weight", 1.0) * WEIGHT, "turns": [*given, joined]})


def _can_be_joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    turns = (first, second)
    return (
        all(turn["needs"] and turn["message"] and not turn.get("given") for turn in turns)
        and {turn["intent"] for turn in turns} == {"read", "write"}
        and len(second["message"].split()) >= MIN_WORDS
        and not first.get("reply", "").rstrip().endswith("?")  # the second one may answer it
    )


def _join(first: str, second: str, conjunction: str) -> str:
    first = first.rstrip()
    if not conjunction.startswith("."):
        first = first.rstrip(SENTENCE_ENDS)
    elif first[-1] in SENTENCE_ENDS:
        conjunction = conjunction[1:]
    return f"{first}{conjunction}{second}"
