"""Render the reference page of all rules."""

from registry.checks import RULES, finding
from registry.checks.finding import CheckRule, Severity

_TABLE_HEAD = "| rule | what it finds | what to do |\n|---|---|---|\n"


def render_page(generated_note: str) -> str:
    """Return the page as Markdown. `generated_note` says what generated it."""
    blocking, warning = (
        "\n".join(_render_row(rule) for rule in RULES.values() if rule.severity == severity)
        for severity in (Severity.BLOCKS, Severity.WARNS)
    )
    hints = ", ".join(f"`{rule.name}`" for rule in RULES.values() if rule.is_hint_if_imported)
    rows = "\n".join(f"| `{op}` | `{rule}` | {reason} |" for (op, rule), reason in sorted(finding.WAIVERS.items()))
    return f"""# Checks of copy

{generated_note}

`manage.py check_catalog` checks the draft. `--op PATH` checks one op, `--only PATTERN` some changes; `--json` prints a
list of `{{op, field, rule, severity, message, fix}}`. It exits with 1 if anything blocks. `field` is a path in the op's
entry, such as `parameters_schema/properties/limit`, `policy/do/0` or `examples/1`.

## What blocks publishing

These findings would break serving, so the draft cannot be published with them.

{_TABLE_HEAD}{blocking}

## What warns

A model may misread the copy. To publish a draft with warnings that the live release does not have, give a reason. It
is stored with the release. The console lists the warnings by check and service: accept each group with one tick, or
fix all of it with one button where that is possible. Code passes the reason as `accepted`.

{_TABLE_HEAD}{warning}

## What is a hint

For an imported op, these are hints: {hints}. So is `summary_like_another` between two imported ops. The service wrote
these texts, and a call that goes wrong because of them is refused with what to send. Nothing has to be done; the
console lists hints on the page of the op and, folded, in the review.

## Accepted warnings of the shipped ops

| op | rule | why |
|---|---|---|
{rows}
"""


def _render_row(rule: CheckRule) -> str:
    return f"| `{rule.name}` | {rule.problem} | {rule.fix} |"
