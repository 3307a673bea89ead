"""Format the report of an import: counts, refused functions and why, what to review, and tokens."""

from statistics import quantiles

from core import tokens
from registry import budget, catalogs, help, sizes
from registry.help import HelpQuery
from registry.imports.documents import Document
from registry.imports.importing import Imported
from registry.imports.prose import shown

LISTED = 10  # names after a remark, unless all are requested


def told(done: Imported, document: Document, *, everything: bool = False) -> str:
    """Return the report of an import, one sentence per line. Untrusted text is escaped for a terminal."""
    merged = done.merged
    added = [path for path in merged.added if path in done.names]
    updated = set(merged.updated) - set(done.retired)
    known = [path for path in done.names if path in updated]
    lines = [
        f"{len(done.names)} functions: {len(added)} ops added, {len(known)} updated, "
        f"{len(done.names) - len(added) - len(known)} unchanged; {len(done.retired)} retired, "
        f"{len(done.refusals)} left out."
    ]
    lines += [f"Left out: {shown(refusal.name)}: {shown(refusal.reason)}" for refusal in done.refusals]
    lines += [f"Retired, no longer in the list: {path}." for path in _some(done.retired, everything)]
    lines += [f"Kept your edit: {place}." for place in merged.kept]
    for sentence, names in sorted(done.remarks.items()):
        listed = ", ".join(map(shown, _some(names, everything)))
        lines.append(f"{len(names)} × {shown(sentence)} {listed}")
    return "\n".join([*lines, _tokens(done, document)])


def _some(names: list[str], everything: bool) -> list[str]:
    if everything or len(names) <= LISTED:
        return names
    return [*names[:LISTED], f"… {len(names) - LISTED} more (--verbosity 2 lists all)"]


def _tokens(done: Imported, document: Document) -> str:
    """Return a line with the tokens a model reads: the plain list, compared with browsing the group and op help."""
    before = tokens.count(document.text)
    if not done.names:
        return f"Tokens: {before} as a list."
    catalog = catalogs.build("", done.content)
    group = min((each["path"] for each in done.content["groups"]), key=len)
    page = budget.size_of(help.answer(catalog, HelpQuery(path=group)).body)
    counts = sizes.token_counts(catalog).values()
    short, full = ([count[form] for count in counts] for form in (0, 1))
    return (
        f"Tokens: {before:,} as a list, read with every request. Now {page:,} to browse {group}, and for one op "
        f"{_spread(short)} short, {_spread(full)} full."
    )


def _spread(counts: list[int]) -> str:
    if len(counts) == 1:
        return str(counts[0])
    cuts = quantiles(counts, n=20, method="inclusive")
    return f"{cuts[9]:.0f} (p95 {cuts[18]:.0f})"
