"""Report: what models looked for and did not find, and what they got wrong, with links to make cases and edits."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from analytics.events import problems, stored_contents
from analytics.events.event_filters import CountedAs, build_op_query
from analytics.events.problems import FIELD_ERROR_PARAMETER, EventFieldError
from analytics.reports import misses, totals
from analytics.reports.misses import FieldErrors, MissedSearch, TurnMisses, WrongChoice
from analytics.reports.report_filter import ReportFilter
from console import contents
from console.reports import suggested_edits
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent, ReportFigure
from console.reports.parts.report_query import ReportQuery, label_values
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from console.reports.suggested_edits import SuggestedEdit
from core.templatetags.admin_format import percent
from registry.drafts.edits import OpEdit
from registry.models import Op
from registry.snapshot import snapshot
from registry.vocabulary import NO_VOCABULARY

LEAD = "What models searched for without a useful result, and what they got wrong."
MAKE_LEAD = (
    f"{LEAD} Turn each into an eval case or an edit of the draft. An edit is prefilled, and shows its effect on the "
    "eval cases before you save it."
)
EXPLANATION = (
    "Searches without a useful result and wrong choices are read from the newest {:,} turns of the period that "
    "searched or failed. Searches that found nothing are counted in the whole period. A search has no useful result if "
    "it found nothing, or if the model continued and no call of its results succeeded in the turn. A choice was wrong "
    "if the op failed, never worked in the turn, and another op then did; it is listed from three times on."
)
NOT_STORED_NOTE = "Without args and the words of searches, only searches without any result are known. {}"
SEEN_ONCE = "seen once"
NO_WORDS = "(words not stored)"
TIMES = ReportColumn("Times", tables.format_count)
SEARCH_COLUMNS = [ReportColumn("Words"), TIMES, ReportColumn("Op that then worked"), ReportColumn("Release")]
CHOICE_COLUMNS = [
    ReportColumn("Op that failed"),
    ReportColumn("Op that then worked"),
    TIMES,
    ReportColumn("Of its calls", percent),
    ReportColumn("Release"),
]
ERROR_COLUMNS = [ReportColumn("Op"), ReportColumn("Argument"), ReportColumn("Problem"), TIMES, ReportColumn("Release")]
NAME_COLUMNS = [ReportColumn("Name sent"), TIMES, ReportColumn("Release")]
EXAMPLE, MAKE = ReportColumn("Example"), ReportColumn("Make")


def build_report(request: HttpRequest) -> ReportContent:
    """Show searches without a useful result, wrong choices, repeated field errors and unknown names."""
    query = ReportQuery(request)
    shows_contents = contents.may_see(request) and stored_contents.get_rules().days > 0
    found = misses.find_turn_misses(query.scope, with_contents=shows_contents)
    errors, names = misses.count_field_errors(query.scope), misses.count_unknown_names(query.scope)
    total = totals.sum_period(query.scope)
    actions = _ActionLinks(request, query.scope, _list_named_ops(found, errors))
    actions.releases = label_values("release", _list_releases(found, errors, names))
    return ReportContent(
        query=query,
        lead=MAKE_LEAD if actions.may_make else LEAD,
        figures=[_build_misses_figure(query.scope, total)],
        tables=[
            ReportTable(
                "searches",
                _describe_searches(found),
                [*SEARCH_COLUMNS, EXAMPLE, *actions.columns],
                [_build_search_row(each, actions) for each in found.searches if each.miss.times > 1],
                minor_rows=[_build_search_row(each, actions) for each in found.searches if each.miss.times == 1],
                minor_reason=SEEN_ONCE,
            ),
            ReportTable(
                "choices",
                "Wrong op, then the right one",
                [*CHOICE_COLUMNS, EXAMPLE, *actions.columns],
                [_build_choice_row(each, actions) for each in found.choices],
            ),
            ReportTable(
                "field_errors",
                "Repeated field errors",
                [*ERROR_COLUMNS, *actions.columns],
                [_build_error_row(query.scope, each, actions) for each in errors],
            ),
            ReportTable(
                "names",
                "Unknown names",
                [*NAME_COLUMNS, *actions.columns],
                [_build_name_row(query.scope, each, actions) for each in names if each.times > 1],
                minor_rows=[_build_name_row(query.scope, each, actions) for each in names if each.times == 1],
                minor_reason=SEEN_ONCE,
            ),
        ],
        notes=[] if shows_contents else [format_html(NOT_STORED_NOTE, contents.explain_missing(request))],
        explanations=[EXPLANATION.format(found.turn_count)],
        is_empty=not (total.calls or total.turns),
    )


class _ActionLinks:
    """Links to forms that are prefilled with a miss, for users who can save them."""

    def __init__(self, request: HttpRequest, scope: ReportFilter, ops: Collection[str]) -> None:
        self.may_edit = request.user.has_perm("registry.change_op")
        self.may_add_case = request.user.has_perm("registry.add_evalcase")
        self.may_make = self.may_edit or self.may_add_case
        self.columns = [MAKE] if self.may_make else []
        self.may_see_event = request.user.has_perm("analytics.view_operationevent")
        rows = (
            Op.objects.filter(op__in=ops).select_related("connection").prefetch_related("rules", "examples", "aliases")
        )
        self.releases: dict[str, str] = {}  # names by version
        self.entries = {row.op: snapshot.op_to_entry(row) for row in rows}
        self.urls = {row.op: reverse("admin:registry_op_change", args=[row.pk]) for row in rows}
        can_copy_args = self.may_edit and contents.may_see(request) and stored_contents.get_rules().days
        self.catalog = suggested_edits.get_live_catalog() if self.may_edit else None
        self.words = self.catalog.vocabulary if self.catalog else NO_VOCABULARY
        self.repairing_calls = misses.find_repairing_calls(scope, ops) if can_copy_args else {}

    def build_op_cell(self, op: str) -> ReportCell:
        return ReportCell(op, self.urls.get(op, "")) if op else ReportCell(None)

    def build_event_cell(self, event: int) -> ReportCell:
        url = reverse("admin:analytics_operationevent_change", args=[event]) if self.may_see_event else ""
        return ReportCell(event, url, html=format_html("Event {}", event))

    def build_release_cell(self, releases: Counter[str]) -> ReportCell:
        """Return the release that served it most often, and how many others did."""
        if not releases:
            return ReportCell(None)
        release, others = releases.most_common(1)[0][0], len(releases) - 1
        return ReportCell(f"{self.releases[release]}{f' and {others} more' if others else ''}")

    def build_links_cells(self, links: Iterable[tuple[str, str] | None]) -> list[ReportCell]:
        """Return the cell of the column "Make"; none for users who cannot add anything."""
        present = [(url, label) for label, url in filter(None, links)]
        if not present:
            return [ReportCell(None)] if self.may_make else []
        html: SafeString = format_html("{}", format_html_join(" · ", '<a href="{}">{}</a>', present))
        return [ReportCell(", ".join(label for _, label in present), html=html)]

    def link_case(self, *, op: str, event: int, note: str) -> tuple[str, str] | None:
        """Return the link to a new case whose request is the stored words of a search."""
        if not self.may_add_case:
            return None
        fields = {"event": event, "note": note, **({"op": op} if op in self.urls else {})}
        return "Eval case", f"{reverse('admin:registry_evalcase_add')}?{urlencode(fields)}"

    def link_edit(self, suggested: SuggestedEdit, *, evidence: str, **fields: Any) -> tuple[str, str] | None:
        """Return the link to a prefilled edit of an op of the draft."""
        if not self.may_edit:
            return None
        return suggested.label, suggested_edits.build_edit_url(suggested, evidence=evidence, **fields)


def _build_misses_figure(scope: ReportFilter, total: totals.Totals) -> ReportFigure:
    return ReportFigure(
        "Searches that found nothing",
        tables.format_count(total.misses),
        f"of {tables.format_count(total.searches)} searches in the period",
        report_query.to_events(scope, CountedAs.MISSES),
    )


def _describe_searches(found: TurnMisses) -> str:
    title = "Searches without a useful result"
    newest = "newest " if found.turn_count == misses.MAX_TURNS else ""
    return f"{title}: {found.search_count:,} in the {newest}{found.turn_count:,} turns" if found.searches else title


def _build_search_row(each: MissedSearch, actions: _ActionLinks) -> list[ReportCell]:
    op, event = each.miss.next_op, each.miss.example
    evidence = f"Searched {_format_times(each.miss.times)} without a useful result, last in event {event}"
    links = []
    if each.words:
        links.append(actions.link_case(op=op, event=event, note=evidence))
        if op:
            suggested = SuggestedEdit("Keyword", OpEdit.KEYWORD, op)
            links.append(actions.link_edit(suggested, evidence=evidence, event=event))
    return [
        ReportCell(each.words or NO_WORDS),
        ReportCell(each.miss.times),
        actions.build_op_cell(op),
        actions.build_release_cell(each.miss.releases),
        actions.build_event_cell(event),
        *actions.build_links_cells(links),
    ]


def _build_choice_row(each: WrongChoice, actions: _ActionLinks) -> list[ReportCell]:
    evidence = (
        f"{each.wrong} failed and {each.right} then worked {_format_times(each.miss.times)}, "
        f"last in event {each.miss.example}"
    )
    summary = actions.entries[each.right]["summary"] if each.right in actions.entries else ""
    suggested = suggested_edits.suggest_for_choice(each.wrong, each.right, summary)
    links = [actions.link_edit(suggested, evidence=evidence)]
    if each.search is not None:
        links.append(actions.link_case(op=each.right, event=each.search, note=evidence))
    return [
        actions.build_op_cell(each.wrong),
        actions.build_op_cell(each.right),
        ReportCell(each.miss.times),
        ReportCell(each.miss.times / each.calls),
        actions.build_release_cell(each.miss.releases),
        actions.build_event_cell(each.miss.example),
        *actions.build_links_cells(links),
    ]


def _build_error_row(scope: ReportFilter, each: FieldErrors, actions: _ActionLinks) -> list[ReportCell]:
    evidence = f"{problems.describe_field_error(each.pointer, each.code)}, {_format_times(each.times)}"
    field_error = EventFieldError(each.pointer, each.code)
    events_query = build_op_query(each.op) | {FIELD_ERROR_PARAMETER: field_error.key}
    links, entry = [], actions.entries.get(each.op)
    if entry is not None:
        suggested = suggested_edits.suggest_for_field_error(each.pointer, each.code, entry, actions.words)
        links.append(actions.link_edit(suggested, evidence=evidence))
        if suggested.edit == OpEdit.DO and (event := actions.repairing_calls.get(each.op)) is not None:
            example = SuggestedEdit("Example", OpEdit.EXAMPLE, each.op)
            links.append(actions.link_edit(example, evidence=evidence, event=event))
    return [
        actions.build_op_cell(each.op),
        ReportCell(problems.describe_pointer(each.pointer)),
        ReportCell(problems.describe_field_code(each.code)),
        ReportCell(each.times, report_query.to_events(scope, CountedAs.FAILED, events_query)),
        actions.build_release_cell(each.releases),
        *actions.build_links_cells(links),
    ]


def _build_name_row(scope: ReportFilter, each: misses.UnknownName, actions: _ActionLinks) -> list[ReportCell]:
    evidence = suggested_edits.describe_unknown_name(each.times)
    link = actions.link_edit(suggested_edits.suggest_for_name(each.name, actions.catalog), evidence=evidence)
    return [
        ReportCell(each.name),
        ReportCell(each.times, report_query.to_events(scope, CountedAs.UNKNOWN_NAMES, {"op__exact": each.name})),
        actions.build_release_cell(each.releases),
        *actions.build_links_cells([link]),
    ]


def _list_releases(
    found: misses.TurnMisses, errors: Iterable[FieldErrors], names: Iterable[misses.UnknownName]
) -> set[str]:
    counters = [each.miss.releases for each in found.searches] + [each.miss.releases for each in found.choices]
    counters += [each.releases for each in errors] + [each.releases for each in names]
    return {release for counter in counters for release in counter}


def _list_named_ops(found: misses.TurnMisses, errors: Iterable[FieldErrors]) -> set[str]:
    named = {each.miss.next_op for each in found.searches} | {each.op for each in errors}
    return {*named, *(op for each in found.choices for op in (each.wrong, each.right))} - {""}


def _format_times(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"
