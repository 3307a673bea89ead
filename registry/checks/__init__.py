"""Check copy. What would break serving blocks a release; what a model may misread is a warning and needs a reason.

Each rule is declared in the module of its family, with its severity and a fix. RULES has them all.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from registry import catalogs, sizes, snapshot
from registry.checks import (
    accepted,
    blocking,
    budgets,
    defaults,
    meanings,
    names,
    policies,
    providers,
    strangers,
    summaries,
)
from registry.checks.blocking import names_in, names_of, off_surface, op_problems, problems
from registry.checks.context import Context, current, imported
from registry.checks.finding import Finding, Rule, Severity, new
from registry.checks.places import Reading
from registry.models import Op

__all__ = [
    "RULES",
    "Context",
    "Counts",
    "Finding",
    "Rule",
    "Severity",
    "check_content",
    "check_draft",
    "check_entry",
    "current",
    "imported",
    "names_in",
    "names_of",
    "new",
    "off_surface",
    "op_problems",
    "problems",
    "warnings",
]

FAMILIES = (blocking, defaults, names, meanings, summaries, policies, budgets, providers, strangers)
RULES: dict[str, Rule] = {rule.name: rule for family in FAMILIES for rule in family.RULES}

Counts = Mapping[str, Sequence[int]]


def check_entry(entry: dict[str, Any], context: Context) -> list[Finding]:
    """Return all findings of one op, saved or not, checked against all other ops. Blocking ones come first.

    `entry` has the form of registry.snapshot. The op with the same path in the context is ignored. An entry with an
    invalid schema or unsendable text gets blocking findings only.
    """
    path = entry["op"]
    others = {name: owner for name, owner in context.names.items() if owner != path}
    found = op_problems(entry)
    unreadable = any(finding.rule in (blocking.SCHEMA_INVALID.name, blocking.UNSENDABLE.name) for finding in found)
    found += blocking.name_problems(entry, names=others, groups=context.groups, paths=context.ops)
    found += blocking.without_id_problems(entry, context.ops)
    if unreadable:
        return found
    counts = {} if any(finding.blocks for finding in found) else sizes.of_entry(entry)
    return found + list(_unaccepted(_warnings(entry, context, counts)))


def check_draft() -> list[Finding]:
    """Return the blocking findings of the draft or, if there are none, its warnings."""
    return check_content(snapshot.draft(), imported=imported())


def check_content(content: dict[str, Any], *, imported: Collection[str] = ()) -> list[Finding]:
    """Return the blocking findings of a snapshot or, if there are none, its warnings.

    `imported` has the paths of ops that were imported from a list of functions.
    """
    if found := problems(content):
        return found
    return warnings(content, sizes.token_counts(catalogs.build("", content)), imported=imported)


def warnings(
    content: dict[str, Any], counts: Counts, *, imported: Collection[str] = (), only: Collection[str] | None = None
) -> list[Finding]:
    """Return the warnings of a snapshot without blocking findings, in the order of its ops.

    `counts` has the tokens of its help, as in a release. `only` limits the check to these paths. Accepted warnings
    (see registry.checks.waivers) are left out.
    """
    context = Context.of(content, imported=imported)
    found: list[Finding] = []
    for op in content["ops"]:
        if only is None or op["op"] in only:
            found += _warnings(op, context, counts)
    for name, entry in _others(content):
        if only is None or name in only:
            found += strangers.hidden(name, entry)
            found += summaries.too_long(name, entry["summary"]) if "summary" in entry else ()
    return list(_unaccepted(found))


def _warnings(entry: dict[str, Any], context: Context, counts: Counts) -> Iterator[Finding]:
    if entry.get("status", Op.Status.ACTIVE) != Op.Status.ACTIVE:
        return  # models do not see it
    reading = Reading(entry)
    yield from strangers.hidden(reading.op, entry)
    if reading.op in context.imported:
        yield from strangers.instructions(entry)
    yield from summaries.check(entry, context)
    yield from names.check(reading, context)
    yield from defaults.check(reading)
    yield from meanings.check(reading)
    yield from policies.check(entry)
    yield from providers.check(reading)
    if reading.op in counts:
        yield from budgets.check(reading.op, counts[reading.op])


def _others(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, entry) of all groups and prompt sections."""
    yield from ((group["path"], group) for group in content["groups"])
    for section in content.get("sections", []):
        yield f"{section['prompt']}/{section['name']}", section


def _unaccepted(found: Iterator[Finding] | list[Finding]) -> Iterator[Finding]:
    return (finding for finding in found if (finding.op, finding.rule) not in accepted.REASONS)
