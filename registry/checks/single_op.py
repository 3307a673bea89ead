"""Checks of one op alone: token budgets, defaults, whether it can run, and its summary."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from core.text import english
from registry.catalog import connections, switches
from registry.catalog.connections import UpstreamTarget
from registry.checks.context import CheckContext
from registry.checks.finding import CheckRule, Finding, Severity
from registry.checks.text_locations import CheckedOp
from registry.jsonschema import dialect, signatures, validator
from registry.jsonschema.dialect import Schema
from registry.models import Op
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.entries import OpEntry
from registry.text import cleanup

SHORT, FULL = 180, 450  # o200k_base tokens of a help body as sent
OVER_SHORT = CheckRule(
    "short_over_budget",
    f"Short help of more than {SHORT} tokens.",
    "Remove unused arguments, or split the op in two.",
    is_hint_if_imported=True,
)
OVER_FULL = CheckRule(
    "full_over_budget",
    f"Full help of more than {FULL} tokens.",
    "Shorten the description, notes and rules, or remove an example.",
    is_hint_if_imported=True,
)
BUDGET_RULES = (OVER_SHORT, OVER_FULL)
OUTSIDE_ENUM = CheckRule(
    "default_outside_enum", "A default that is not one of the argument's values.", "Use one of the values."
)
REFUSED = CheckRule(
    "default_refused", "A default that is invalid for the argument's schema.", "Use a default that the schema allows."
)
DEFAULT_RULES = (OUTSIDE_ENUM, REFUSED)
MAX_SHOWN = 100  # characters of a default
CANNOT_RUN = CheckRule(
    "cannot_run",
    "An active op that nothing can run: it has no connection, or its connection has no handler for its tool name and "
    "no request to send.",
    "Choose a connection that can run it, or retire the op.",
    Severity.BLOCKS,
)
EXECUTION_RULES = (CANNOT_RUN,)
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
SUMMARY_RULES = (TOO_LONG, SIMILAR)


def check_budgets(op: str, counts: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding for each form of help over its budget; `counts` is [short tokens, full tokens]."""
    for rule, field, count, budget in (
        (OVER_SHORT, "help/short", counts[0], SHORT),
        (OVER_FULL, "help/full", counts[1], FULL),
    ):
        if count > budget:
            yield rule.make_finding(op, field, f"{count:,} tokens; the budget is {budget}.")


def check_defaults(reading: CheckedOp) -> Iterator[Finding]:
    """Yield a finding for each default, at every level, that is invalid for its schema."""
    op, root = reading.op, reading.schema
    for argument in reading.arguments:
        if "default" not in argument.schema:
            continue
        value, field = argument.schema["default"], f"{argument.field}/default"
        allowed = dialect.dereference(root, argument.schema).get("enum")
        if isinstance(allowed, list) and value not in allowed and not isinstance(value, list):
            yield _build_enum_finding(op, field, argument.name, value, allowed)
        elif refusals := _find_refusals(argument.schema, value, root):
            message = f"{_format_default(value)} is not a valid {argument.name}: {refusals[0].removeprefix('/v: ')}"
            yield REFUSED.make_finding(op, field, message)


def _build_enum_finding(op: str, field: str, name: str, value: Any, allowed: list[Any]) -> Finding:
    allowed_text = ", ".join(signatures.format_literal(each) for each in allowed[: signatures.MAX_ENUM_SHOWN])
    message = f"{_format_default(value)} is not one of the values of {name}: {allowed_text}."
    close_values = english.find_similar(str(value), map(str, allowed), limit=1)
    return OUTSIDE_ENUM.make_finding(op, field, message, f"Did you mean {close_values[0]}?" if close_values else "")


def _format_default(value: Any) -> str:
    return signatures.format_literal(value)[:MAX_SHOWN]


def _find_refusals(schema: Schema, value: Any, root: Schema) -> list[str]:
    wrapper = {"type": "object", "properties": {"v": schema}} | dialect.collect_definitions(root, schema)
    return validator.find_instance_problems(wrapper, {"v": value})


def find_unrunnable_ops(ops: Iterable[OpEntry]) -> list[Finding]:
    """Return a blocking finding for each op that exec would refuse to run. Takes one query.

    Drafts may have such ops, so this is separate from `find_errors`. Models do not see ops that are retired or switched
    off. Those are not checked.
    """
    current, off = connections.refresh_connections(), switches.get_switches()
    findings = []
    for op in ops:
        connection = op.get("connection", "")
        target = UpstreamTarget(connection, op["tool_name"], op.get("upstream_name", ""), bool(op.get("request")))
        # A change upstream hides the op until it is approved. That must not stop other copy from being published.
        missing = "" if current.is_held(target) else current.explain_missing(target)
        if not missing or op.get("status", Op.Status.ACTIVE) != Op.Status.ACTIVE:
            continue
        if not off.explain_off(op["op"], aliases=op.get("aliases", ()), connection=connection):
            findings.append(CANNOT_RUN.make_finding(op["op"], "connection", f"Cannot run: {missing}."))
    return findings


def check_summary(entry: OpEntry, context: CheckContext) -> Iterator[Finding]:
    """Yield findings about the summary of an op.

    That of two imported ops is a hint: their paths, which are always shown with the summaries, say how they differ.
    """
    path, summary = entry["op"], entry["summary"]
    yield from check_length(path, summary)
    if entry.get("status", Op.Status.ACTIVE) == Op.Status.ACTIVE and (
        similar := context.summary_index.find_similar(path, summary)
    ):
        own = [other for other in similar if other not in context.imported]
        first = (own or similar)[0]
        others = f" and {len(similar) - 1} more" if len(similar) > 1 else ""
        finding = SIMILAR.make_finding(
            path,
            "summary",
            f"The summary is almost the same as that of {first}{others}.",
            f"Say how this op differs from “{context.ops[first]['summary']}”.",
        )
        yield finding if own or path not in context.imported else replace(finding, severity=Severity.HINTS)


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
