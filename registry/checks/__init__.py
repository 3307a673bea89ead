"""Check copy. What would break serving blocks a release; what a model may misread is a warning and needs a reason.

What only the text of a service leaves open is a hint, which needs nothing.

Each rule is declared in the module of its family, with its severity and a fix. RULES has them all.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from registry.catalog import builder
from registry.checks import (
    errors,
    prose,
    providers,
    single_op,
    surface_copy,
    text_locations,
    units_and_formats,
    words,
)
from registry.checks.context import CheckContext, get_current_context, get_imported_paths
from registry.checks.errors import find_errors, find_op_errors, list_op_names
from registry.checks.finding import WAIVERS, CheckRule, Finding, Severity, select_new_findings
from registry.checks.single_op import find_unrunnable_ops
from registry.checks.surface_copy import find_names_in_text, find_off_surface_names
from registry.checks.text_locations import CheckedOp
from registry.help import token_counts
from registry.models import Op
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import Entry, OpEntry, Snapshot

__all__ = [
    "RULES",
    "CheckContext",
    "CheckRule",
    "Finding",
    "Severity",
    "TokenCountsByOp",
    "check_content",
    "check_draft",
    "check_entry",
    "find_errors",
    "find_names_in_text",
    "find_off_surface_names",
    "find_op_errors",
    "find_unrunnable_ops",
    "find_warnings",
    "get_current_context",
    "get_imported_paths",
    "list_op_names",
    "select_new_findings",
]

_RULE_FAMILIES = (
    errors.RULES,
    surface_copy.RULES,
    single_op.EXECUTION_RULES,
    single_op.DEFAULT_RULES,
    prose.NAME_RULES,
    units_and_formats.RULES,
    single_op.SUMMARY_RULES,
    prose.POLICY_RULES,
    single_op.BUDGET_RULES,
    providers.RULES,
    text_locations.PROMPT_INJECTION_RULES,
    words.RULES,
)
RULES: dict[str, CheckRule] = {rule.name: rule for rules in _RULE_FAMILIES for rule in rules}

TokenCountsByOp = Mapping[str, Sequence[int]]


def check_entry(entry: OpEntry, context: CheckContext) -> list[Finding]:
    """Return all findings of one op, saved or not, checked against all other ops. Blocking ones come first.

    `entry` has the form of registry.snapshot.snapshot. The op with the same path in the context is ignored. An entry
    with an invalid schema or unsendable text gets blocking findings only.
    """
    path = entry["op"]
    others = {name: owner for name, owner in context.names.items() if owner != path}
    findings = find_op_errors(entry)
    is_unreadable = any(finding.rule in (errors.SCHEMA_INVALID.name, errors.UNSENDABLE.name) for finding in findings)
    findings += errors.find_name_errors(entry, names=others, groups=context.groups, paths=context.ops)
    findings += errors.find_without_id_errors(entry, context.ops)
    if is_unreadable:
        return findings
    counts = {} if any(finding.is_blocking for finding in findings) else token_counts.count_entry_tokens(entry)
    return findings + list(_drop_waived(_iter_warnings(entry, context, counts)))


def check_draft(content: Snapshot | None = None) -> list[Finding]:
    """Return the blocking findings of the draft or of some of its changes; if there are none, the warnings."""
    content = content or snapshot.snapshot_draft()
    if unrunnable := find_unrunnable_ops(content["ops"]):
        return find_errors(content) + unrunnable
    return check_content(content, imported=get_imported_paths())


def check_content(content: Snapshot, *, imported: Collection[str] = ()) -> list[Finding]:
    """Return the blocking findings of a snapshot or, if there are none, its warnings.

    `imported` has the paths of ops that were imported from a list of functions.
    """
    if findings := find_errors(content):
        return findings
    return find_warnings(
        content, token_counts.count_catalog_tokens(builder.build_catalog("", content)), imported=imported
    )


def find_warnings(
    content: Snapshot,
    counts: TokenCountsByOp,
    *,
    imported: Collection[str] = (),
    only: Collection[str] | None = None,
) -> list[Finding]:
    """Return the warnings and hints of a snapshot without blocking findings, in the order of its ops.

    `counts` has the tokens of its help, as in a release. `only` limits the check to these paths. Accepted warnings
    (see registry.checks.finding) are left out.
    """
    context = CheckContext.from_content(content, imported=imported)
    findings: list[Finding] = []
    for op in content["ops"]:
        if only is None or op["op"] in only:
            findings += _iter_warnings(op, context, counts)
    for kind, name, entry in _iter_other_entries(content):
        if only is None or name in only:
            findings += text_locations.find_hidden_characters(name, entry, kind=kind)
            findings += single_op.check_length(name, entry["summary"], kind=kind) if "summary" in entry else ()
    others = (*surface_copy.find_warnings(content), *words.find_warnings(content, only=only))
    findings += (finding for finding in others if only is None or finding.op in only)
    return list(_drop_waived(findings))


def _iter_warnings(entry: OpEntry, context: CheckContext, counts: TokenCountsByOp) -> Iterator[Finding]:
    is_imported = entry["op"] in context.imported
    for finding in _iter_findings(entry, context, counts):
        is_hint = is_imported and RULES[finding.rule].is_hint_if_imported and not finding.field.startswith("policy/")
        yield replace(finding, severity=Severity.HINTS) if is_hint else finding


def _iter_findings(entry: OpEntry, context: CheckContext, counts: TokenCountsByOp) -> Iterator[Finding]:
    if entry.get("status", Op.Status.ACTIVE) != Op.Status.ACTIVE:
        return  # models do not see it
    op = CheckedOp(entry)
    yield from text_locations.find_hidden_characters(op.op, entry)
    if op.op in context.imported:
        yield from text_locations.find_instructions(entry)
    yield from single_op.check_summary(entry, context)
    yield from prose.check_names(op, context)
    yield from single_op.check_defaults(op)
    yield from units_and_formats.check(op)
    yield from prose.check_policies(entry)
    yield from providers.check(op)
    if op.op in counts:
        yield from single_op.check_budgets(op.op, counts[op.op])


def _iter_other_entries(content: Snapshot) -> Iterator[tuple[Kind, str, Entry]]:
    """Yield (kind, name, entry) of everything but ops."""
    for kind, copy_kind in COPY_KINDS.items():
        if kind != Kind.OP:
            yield from ((kind, copy_kind.get_name(entry), entry) for entry in copy_kind.get_entries(content))


def _drop_waived(findings: Iterator[Finding] | list[Finding]) -> Iterator[Finding]:
    return (finding for finding in findings if (finding.op, finding.rule) not in WAIVERS)
