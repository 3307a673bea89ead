"""What the help of an op costs a model that reads it."""

from collections.abc import Iterator, Sequence

from registry.checks.finding import Finding, Rule

SHORT, FULL = 180, 450  # o200k_base tokens of a help body as it is sent

OVER_SHORT = Rule(
    "short_over_budget",
    f"A short help of more than {SHORT} tokens.",
    "Leave out arguments that nobody sends, or part the op in two.",
)
OVER_FULL = Rule(
    "full_over_budget",
    f"A full help of more than {FULL} tokens.",
    "Shorten the description, the notes and the rules, or leave out an example.",
)
RULES = (OVER_SHORT, OVER_FULL)


def check(op: str, counts: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding for each form of an op's help that costs too much; `counts` are [tokens short, tokens full]."""
    for rule, field, count, budget in (
        (OVER_SHORT, "help/short", counts[0], SHORT),
        (OVER_FULL, "help/full", counts[1], FULL),
    ):
        if count > budget:
            yield rule.found(op, field, f"It has {count:,} tokens; the budget is {budget}.")
