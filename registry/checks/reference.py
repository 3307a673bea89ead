"""The reference page of all rules."""

from registry.checks import RULES, accepted
from registry.checks.finding import Rule, Severity

_HEAD = "| rule | what it finds | what to do |\n|---|---|---|\n"


def page(made: str) -> str:
    """Return the page as markdown; `made` says by what."""
    blocking, warning = (
        "\n".join(_row(rule) for rule in RULES.values() if rule.severity == severity) for severity in Severity
    )
    rows = "\n".join(f"| `{op}` | `{rule}` | {reason} |" for (op, rule), reason in sorted(accepted.REASONS.items()))
    return f"""# Checks of copy

{made}

`manage.py check_catalog` checks the draft, with `--op PATH` one op of it; `--json` prints a list of
`{{op, field, rule, severity, message, fix}}`. It exits with 1 where something blocks. `field` leads through the op's
entry, such as `parameters_schema/properties/limit`, `policy/do/0` or `examples/1`.

## What blocks publishing

It would break serving: there is no release with it.

{_HEAD}{blocking}

## What warns

A model may misread it. A draft that has a warning which the live release has not is published only with a reason,
which is kept with the release: in the admin after a page that lists them, in code as `accepted`.

{_HEAD}{warning}

## What is accepted of the shipped ops

| op | rule | why |
|---|---|---|
{rows}
"""


def _row(rule: Rule) -> str:
    return f"| `{rule.name}` | {rule.what} | {rule.fix} |"
