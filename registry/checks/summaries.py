"""Check summaries: the one line by which a model chooses among the ops of a group."""

from collections.abc import Iterator
from typing import Any

from registry.checks.context import Context
from registry.checks.finding import Finding, Rule
from registry.imports import prose
from registry.models import Op

MAX_WORDS = prose.MAX_WORDS
MAX_CHARACTERS = 200

TOO_LONG = Rule(
    "summary_too_long",
    f"A summary of more than {MAX_WORDS} words or {MAX_CHARACTERS} characters.",
    "Say what it does in one line. Put the rest in the description.",
)
ALIKE = Rule(
    "summary_like_another",
    "A summary that says nearly the same as another op's.",
    "Say how this op differs.",
)
RULES = (TOO_LONG, ALIKE)


def check(entry: dict[str, Any], context: Context) -> Iterator[Finding]:
    """Yield findings about the summary of an op."""
    path, summary = entry["op"], entry["summary"]
    yield from too_long(path, summary)
    if entry.get("status", Op.Status.ACTIVE) == Op.Status.ACTIVE and (alike := context.summaries.alike(path, summary)):
        others = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        yield ALIKE.found(
            path,
            "summary",
            f"It says nearly the same as {alike[0]}{others}.",
            f"Say how it differs from “{context.ops[alike[0]]['summary']}”.",
        )


def too_long(path: str, summary: str) -> Iterator[Finding]:
    """Yield a finding if a summary is longer than one short line."""
    count = len(summary.split())
    if count > MAX_WORDS or len(summary) > MAX_CHARACTERS:
        message = f"{count} words, {len(summary)} characters; the limits are {MAX_WORDS} and {MAX_CHARACTERS}."
        yield TOO_LONG.found(path, "summary", message, f"For example: “{prose.summary(summary, path)}”.")
