"""Check how many tokens the help of an op has."""

from collections.abc import Iterator, Sequence

from registry.checks.finding import CheckRule, Finding

SHORT, FULL = 180, 450  # o200k_base tokens of a help body as sent

OVER_SHORT = CheckRule(
    "short_over_budget",
    f"Short help of more than {SHORT} tokens.",
    "Remove unused arguments, or split the op in two.",
)
OVER_FULL = CheckRule(
    "full_over_budget",
    f"Full help of more than {FULL} tokens.",
    "Shorten the description, notes and rules, or remove an example.",
)
RULES = (OVER_SHORT, OVER_FULL)


def check(op: str, counts: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding for each form of help over its budget; `counts` is [short tokens, full tokens]."""
    for rule, field, count, budget in (
        (OVER_SHORT, "help/short", counts[0], SHORT),
        (OVER_FULL, "help/full", counts[1], FULL),
    ):
        if count > budget:
            yield rule.make_finding(op, field, f"{count:,} tokens; the budget is {budget}.")
