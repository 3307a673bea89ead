"""Check summaries: the one line by which a model chooses among the ops of a group."""

from collections.abc import Iterator
from typing import Any

from registry.checks.context import CheckContext
from registry.checks.finding import CheckRule, Finding
from registry.models import Op
from registry.snapshot.copy_kinds import Kind
from registry.text import cleanup

MAX_WORDS = cleanup.MAX_WORDS
MAX_CHARACTERS = 200

TOO_LONG = CheckRule(
    "summary_too_long",
    f"A summary of more than {MAX_WORDS} words or {MAX_CHARACTERS} characters.",
    "Say what it does in one line. Put the rest in the description.",
)
SIMILAR = CheckRule(
    "summary_like_another",
    "A summary that is almost the same as another op's.",
    "Say how this op differs.",
)
RULES = (TOO_LONG, SIMILAR)


def check(entry: dict[str, Any], context: CheckContext) -> Iterator[Finding]:
    """Yield findings about the summary of an op."""
    path, summary = entry["op"], entry["summary"]
    yield from check_length(path, summary)
    if entry.get("status", Op.Status.ACTIVE) == Op.Status.ACTIVE and (
        similar := context.summary_index.find_similar(path, summary)
    ):
        others = f" and {len(similar) - 1} more" if len(similar) > 1 else ""
        yield SIMILAR.make_finding(
            path,
            "summary",
            f"The summary is almost the same as that of {similar[0]}{others}.",
            f"Say how this op differs from “{context.ops[similar[0]]['summary']}”.",
        )


def check_length(path: str, summary: str, *, kind: Kind = Kind.OP) -> Iterator[Finding]:
    """Yield a finding if a summary is longer than one short line."""
    word_count = len(summary.split())
    if word_count > MAX_WORDS or len(summary) > MAX_CHARACTERS:
        count, limit, noun = (
            (word_count, MAX_WORDS, "words") if word_count > MAX_WORDS else (len(summary), MAX_CHARACTERS, "characters")
        )
        message = f"{count:,} {noun}; the limit is {limit}."
        fix = f"For example: “{cleanup.write_summary(summary, path)}”."
        yield TOO_LONG.make_finding(path, "summary", message, fix, kind=kind)
