"""Shared parts of the pages of releases: differences, findings, and daily token costs."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import get_text_list

from analytics import reports
from core.templatetags.admin_format import signed
from registry.checks import Finding
from registry.models import Release
from registry.releases import restore
from registry.releases.help_diff import EntryDifference
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import CopyChange

PAGE_SIZE = 50  # differences
MAX_LISTED = 200  # findings; an import of thousands of functions can have thousands
WRITE_DRAFT = [  # permissions to write entries of every kind
    f"registry.{verb}_{each.model._meta.model_name}" for verb in ("add", "change") for each in COPY_KINDS.values()
]
MIN_SHOWN_DOLLARS = 0.005  # dollars; smaller amounts are not shown


class LinkedDifference(NamedTuple):
    """A difference, with the URL of its row if the draft has one."""

    difference: EntryDifference
    link: str


class LinkedFinding(NamedTuple):
    """A finding, with the URL of the input to correct, or empty if the draft has no such row.

    `change` is that of its entry, if the entry differs from the live release: it can be left out.
    """

    finding: Finding
    link: str
    change: CopyChange | None = None


def build_diff_context(page: Page[CopyChange], page_differences: Sequence[EntryDifference]) -> dict[str, Any]:
    """Return the context of console/releases/diff_list.html: one page of changes."""
    names = {kind: [each.change.name for each in page_differences if each.change.kind == kind] for kind in COPY_KINDS}
    links = {(kind, name): link for kind in COPY_KINDS for name, link in _iterate_links(kind, names[kind])}
    linked = [LinkedDifference(each, links.get((each.change.kind, each.change.name), "")) for each in page_differences]
    return {"page": page, "differences": linked, "unchanged": (0, 0)}


def build_findings_context(all_findings: Sequence[Finding], changes: Iterable[CopyChange] = ()) -> dict[str, Any]:
    """Return the context of console/releases/findings.html. `changes` are those that can be left out."""
    return {"findings": link_findings(all_findings[:MAX_LISTED], changes), "findings_count": len(all_findings)}


def link_findings(findings: Sequence[Finding], changes: Iterable[CopyChange] = ()) -> list[LinkedFinding]:
    """Return findings with the URLs of the inputs to correct. `changes` are those that can be left out."""
    names = {kind: {finding.op for finding in findings if finding.kind == kind} for kind in COPY_KINDS}
    links = {(kind, name): link for kind in COPY_KINDS for name, link in _iterate_links(kind, names[kind])}
    changed = {(change.kind, change.name): change for change in changes if change.name in names[change.kind]}
    return [
        LinkedFinding(finding, _link_to_input(finding, links), changed.get((finding.kind, finding.op)))
        for finding in findings
    ]


def build_review_link(request: HttpRequest) -> SafeString:
    """Return a sentence with a link to the review, as the next step after the draft was saved."""
    url = reverse("admin:registry_release_review")
    if request.user.has_perm("registry.add_release"):
        return format_html('<a class="underline" href="{}">Publish it</a> to show it to models.', url)
    return format_html('<a class="underline" href="{}">Ask for a review</a> to have it published.', url)


def can_see_draft(request: HttpRequest) -> bool:
    """Return whether the user may see the changes of the draft."""
    return request.user.has_perms([f"registry.view_{model}" for model in ("op", "group", "promptsection")])


def can_write_draft(request: HttpRequest) -> bool:
    """Return whether the user may write entries of every kind into the draft."""
    return request.user.has_perms(WRITE_DRAFT)


def get_question_url(request: HttpRequest, taken_back: Release | None, *, was_live: bool) -> str:
    """Return the page that asks what happens to the draft, if it has changes of a release that was taken back; else "".

    If it was live until now, also for a draft with only its own changes: the page says that they are still there.
    """
    if taken_back is None or not can_write_draft(request):
        return ""
    unpublished = restore.find_unpublished_changes(taken_back)
    if unpublished is None or not (unpublished.from_release or (was_live and unpublished.changes)):
        return ""
    return f"{reverse('admin:registry_release_discard_all')}?taken_back={taken_back.pk}"


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
    kinds_by_importance = sorted(COPY_KINDS.values(), key=lambda each: each.kind != Kind.OP)
    parts = [
        f"{counts[each.kind]:,} {each.singular if counts[each.kind] == 1 else each.plural}"
        for each in kinds_by_importance
        if counts.get(each.kind)
    ]
    return get_text_list(parts, "and")


def format_daily_cost(tokens: float) -> str:
    """Return additional tokens a day in words, with their price from a cent on."""
    dollars = reports.price_in_dollars(tokens, at=timezone.now())
    words = f"{signed(round(tokens))} tokens a day"
    if abs(dollars) < MIN_SHOWN_DOLLARS:
        return words
    return f"{words}, {'−' if dollars < 0 else '+'}${abs(dollars):,.2f}"


def _link_to_input(finding: Finding, links: Mapping[tuple[Kind, str], str]) -> str:
    link = links.get((finding.kind, finding.op), "")
    return f"{link}#id_{finding.field.partition('/')[0]}" if link else ""


def _iterate_links(kind: Kind, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, URL) of the draft's rows of one kind with these names."""
    if not names:
        return
    copy_kind = COPY_KINDS[kind]
    page = f"admin:registry_{copy_kind.model._meta.model_name}_change"
    rows = copy_kind.filter_names(copy_kind.model._default_manager.all(), names)
    for fields in rows.values("pk", *copy_kind.name_fields):
        yield copy_kind.get_name(fields), reverse(page, args=[fields["pk"]])
