"""Format the report of an import: counts, what was refused and why, what to review, and tokens."""

from statistics import quantiles

from core.text import token_budget as tokens
from registry.catalog import builder
from registry.help import help_pages, token_budget, token_counts
from registry.help.help_pages import HelpQuery
from registry.imports.import_source import ImportSource
from registry.imports.run_import import ImportResult
from registry.text.cleanup import escape_for_terminal

MAX_LISTED = 10  # names after a remark, unless all are requested
VERBOSITY_HINT = " (--verbosity 2 lists all)"  # for the command


def format_report(
    result: ImportResult, source: ImportSource, *, show_all: bool = False, hint: str = VERBOSITY_HINT
) -> str:
    """Return the report of an import, one sentence per line. Untrusted text is escaped for a terminal.

    `hint` says how to see the names that were left out.
    """
    merged = result.merged
    added = [path for path in merged.added if path in result.upstream_names]
    updated = set(merged.updated) - set(result.retired)
    previously_imported = [path for path in result.upstream_names if path in updated]
    lines = [
        f"{len(result.upstream_names)} {source.unit}: {len(added)} ops added, {len(previously_imported)} updated, "
        f"{len(result.upstream_names) - len(added) - len(previously_imported)} unchanged; "
        f"{len(result.retired)} retired, {len(result.refusals)} left out."
    ]
    lines += [
        f"Left out: {escape_for_terminal(refusal.name)}: {escape_for_terminal(refusal.reason)}"
        for refusal in result.refusals
    ]
    lines += [f"Retired, no longer in {source.origin}: {path}." for path in limit_names(result.retired, show_all, hint)]
    lines += [f"Kept your edit: {place}." for place in merged.kept_edits]
    for sentence, names in sorted(result.remarks.items()):
        names_text = ", ".join(map(escape_for_terminal, limit_names(names, show_all, hint)))
        lines.append(f"{len(names)} × {escape_for_terminal(sentence)} {names_text}")
    return "\n".join([*lines, _format_tokens(result, source)])


def limit_names(names: list[str], show_all: bool, hint: str = VERBOSITY_HINT) -> list[str]:
    """Return the first names, and how many more there are, unless all are requested."""
    if show_all or len(names) <= MAX_LISTED:
        return names
    return [*names[:MAX_LISTED], f"… {len(names) - MAX_LISTED} more{hint}"]


def _format_tokens(result: ImportResult, source: ImportSource) -> str:
    """Return a line with the tokens a model reads: the plain list, compared with browsing the group and op help."""
    before = tokens.count(source.tools_text)
    if not result.upstream_names:
        return f"Tokens: {before} as a list."
    catalog = builder.build_catalog("", result.content)
    group = min((each["path"] for each in result.content["groups"]), key=len)
    group_tokens = token_budget.count_rendered_tokens(help_pages.answer_query(catalog, HelpQuery(path=group)).body)
    counts = token_counts.count_catalog_tokens(catalog).values()
    short, full = ([count[form] for count in counts] for form in (0, 1))
    return (
        f"Tokens: {before:,} as a list, read with every request. Now {group_tokens:,} to browse {group}, "
        f"and for one op {_format_spread(short)} short, {_format_spread(full)} full."
    )


def _format_spread(counts: list[int]) -> str:
    if len(counts) == 1:
        return str(counts[0])
    percentiles = quantiles(counts, n=20, method="inclusive")
    return f"{percentiles[9]:.0f} (p95 {percentiles[18]:.0f})"
