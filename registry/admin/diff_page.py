"""Shared parts of the pages of releases: differences, findings, and daily token costs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.text import get_text_list

from analytics import reports
from core.templatetags.admin_format import signed
from registry.checks import Finding
from registry.models import Group, Op, PromptSection, Release
from registry.releases.help_diff import EntryDifference
from registry.snapshot.diff import CopyChange, Kind

KIND_NOUNS = {
    Kind.OP: ("op", "ops"),
    Kind.GROUP: ("group", "groups"),
    Kind.SECTION: ("prompt section", "prompt sections"),
}

PAGE_SIZE = 50  # differences
MAX_LISTED = 200  # findings; an import of thousands of functions can have thousands
MIN_SHOWN_DOLLARS = 0.005  # dollars; smaller amounts are shown in words


class LinkedDifference(NamedTuple):
    """A difference, with the URL of its row if the draft has one."""

    difference: EntryDifference
    link: str


class LinkedFinding(NamedTuple):
    """A finding, with the URL of the input to correct, or empty if the draft has no such row."""

    finding: Finding
    link: str


def build_diff_context(page: Page[CopyChange], page_differences: Sequence[EntryDifference]) -> dict[str, Any]:
    """Return the context of registry/diff_list.html: one page of changes."""
    changes = [each.change for each in page_differences]
    has_sections = any(change.kind == Kind.SECTION for change in changes)
    links = dict(_iterate_links([change.name for change in changes], has_sections=has_sections))
    linked = [LinkedDifference(each, links.get((each.change.kind, each.change.name), "")) for each in page_differences]
    return {"page": page, "differences": linked, "unchanged": (0, 0)}


def build_findings_context(all_findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the context of registry/findings.html."""
    shown = all_findings[:MAX_LISTED]
    names = {finding.op for finding in shown}
    links = {name: link for (_, name), link in _iterate_links(names, has_sections=any("/" in name for name in names))}
    linked = [LinkedFinding(finding, _link_to_input(finding, links)) for finding in shown]
    return {"findings": linked, "findings_count": len(all_findings)}


def can_write_draft(request: HttpRequest) -> bool:
    """Return whether the user may write entries of every kind into the draft."""
    models = ("op", "group", "promptsection")
    return request.user.has_perms([f"registry.{verb}_{model}" for verb in ("add", "change") for model in models])


def get_release_or_404(version: str) -> Release:
    """Return the release with this version. Raises Http404."""
    matching_release = Release.objects.filter(version=version).first()
    if matching_release is None:
        raise Http404(f"No release has the version {version[:64]}.")
    return matching_release


def format_change_counts(changes: Sequence[CopyChange]) -> str:
    """Return the number of changes of each kind in words, such as "3 ops and 1 group"."""
    return format_counts(Counter(change.kind for change in changes))


def format_counts(counts: Mapping[Kind, int]) -> str:
    """Return the counts by kind in words, such as "3 ops and 1 group"."""
    parts = [f"{counts[kind]:,} {KIND_NOUNS[kind][counts[kind] != 1]}" for kind in KIND_NOUNS if counts.get(kind)]
    return get_text_list(parts, "and")


def format_daily_cost(tokens: float) -> str:
    """Return additional tokens a day in words, with their price."""
    dollars = float(reports.price_in_dollars(tokens))
    money = (
        f"{'−' if dollars < 0 else '+'}${abs(dollars):,.2f}"
        if abs(dollars) >= MIN_SHOWN_DOLLARS
        else "less than a cent"
    )
    return f"about {signed(round(tokens))} a day, {money}"


def _link_to_input(finding: Finding, links: Mapping[str, str]) -> str:
    link = links.get(finding.op, "")
    return f"{link}#id_{finding.field.partition('/')[0]}" if link else ""


def _iterate_links(names: Collection[str], *, has_sections: bool) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((kind, name), URL) of the draft's rows with these names."""
    for path, pk in Op.objects.filter(op__in=names).values_list("op", "pk"):
        yield (Kind.OP, path), reverse("admin:registry_op_change", args=[pk])
    for path, pk in Group.objects.filter(path__in=names).values_list("path", "pk"):
        yield (Kind.GROUP, path), reverse("admin:registry_group_change", args=[pk])
    if has_sections:
        for prompt, name, pk in PromptSection.objects.values_list("prompt", "name", "pk"):
            yield (Kind.SECTION, f"{prompt}/{name}"), reverse("admin:registry_promptsection_change", args=[pk])
