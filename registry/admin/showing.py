"""Shared parts of the pages of releases: differences, findings, and daily token costs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.text import get_text_list

from analytics import reports
from core.deskfilters import signed
from registry.changes import Change, Kind
from registry.checks import Finding
from registry.comparison import Difference
from registry.models import Group, Op, PromptSection, Release

PLURALS = {Kind.OP: ("op", "ops"), Kind.GROUP: ("group", "groups"), Kind.SECTION: ("prompt section", "prompt sections")}

PAGE = 50  # differences
LISTED = 200  # findings; an import of thousands of functions can have thousands
CENT = 0.005  # dollars; smaller amounts are shown in words


class Shown(NamedTuple):
    """A difference, with the URL of its row if the draft has one."""

    difference: Difference
    link: str


def differences(page: Page[Change], found: Sequence[Difference]) -> dict[str, Any]:
    """Return the context of registry/differences.html: one page of changes."""
    links = dict(_links([each.change for each in found]))
    shown = [Shown(each, links.get((each.change.kind, each.change.name), "")) for each in found]
    return {"page": page, "differences": shown, "unchanged": (0, 0)}


def findings(found: Sequence[Finding]) -> dict[str, Any]:
    """Return the context of registry/findings.html."""
    return {"findings": found[:LISTED], "findings_count": len(found)}


def may_write_draft(request: HttpRequest) -> bool:
    """Return whether the user may write entries of every kind into the draft."""
    models = ("op", "group", "promptsection")
    return request.user.has_perms([f"registry.{verb}_{model}" for verb in ("add", "change") for model in models])


def release(version: str) -> Release:
    """Return the release with this version. Raises Http404."""
    found = Release.objects.filter(version=version).first()
    if found is None:
        raise Http404(f"No release has the version {version[:64]}.")
    return found


def counted(found: Sequence[Change]) -> str:
    """Return the number of changes of each kind in words, such as "3 ops and 1 group"."""
    return named(Counter(change.kind for change in found))


def named(counts: Mapping[Kind, int]) -> str:
    """Return the counts by kind in words, such as "3 ops and 1 group"."""
    told = [f"{counts[kind]:,} {PLURALS[kind][counts[kind] != 1]}" for kind in PLURALS if counts.get(kind)]
    return get_text_list(told, "and")


def a_day(tokens: float) -> str:
    """Return additional tokens a day in words, with their price."""
    dollars = float(reports.dollars(tokens))
    money = f"{'−' if dollars < 0 else '+'}${abs(dollars):,.2f}" if abs(dollars) >= CENT else "less than a cent"
    return f"about {signed(round(tokens))} a day, {money}"


def _links(found: Sequence[Change]) -> Iterator[tuple[tuple[str, str], str]]:
    names = [change.name for change in found]
    for path, pk in Op.objects.filter(op__in=names).values_list("op", "pk"):
        yield (Kind.OP, path), reverse("admin:registry_op_change", args=[pk])
    for path, pk in Group.objects.filter(path__in=names).values_list("path", "pk"):
        yield (Kind.GROUP, path), reverse("admin:registry_group_change", args=[pk])
    if any(change.kind == Kind.SECTION for change in found):
        for prompt, name, pk in PromptSection.objects.values_list("prompt", "name", "pk"):
            yield (Kind.SECTION, f"{prompt}/{name}"), reverse("admin:registry_promptsection_change", args=[pk])
