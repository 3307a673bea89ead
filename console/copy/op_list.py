"""The list of ops: token counts, calls, failures, unpublished changes, and what cannot run."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.filters import SimpleListFilter
from django.db.models import F, OuterRef, Q, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from analytics import reports
from analytics.events.event_filters import CountedAs
from console.access.switches import SwitchableMixin
from console.reports.parts import report_query
from core.templatetags.admin_format import breakable, percent
from registry.catalog import connections, switches
from registry.catalog.connections import Connections, UpstreamTarget
from registry.drafts import history
from registry.models import Op
from registry.releases import unpublished
from registry.snapshot.diff import Kind

if TYPE_CHECKING:  # unfold ships no types; what it derives from has them
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList

IS_FAILING = Q(week_calls__gte=reports.MIN_FAILING_CALLS, week_failure_rate__gte=reports.MIN_FAILURE_RATE)


class DraftFilter(SimpleListFilter):
    """Filter ops by whether they have unpublished changes or cannot run."""

    title = "state"
    parameter_name = "draft"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("differs", "Unpublished changes"), ("same", "Live"), ("cannot_run", "Cannot run")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Op]) -> QuerySet[Op]:
        if self.value() == "cannot_run":
            active = (
                Op.objects.filter(status=Op.Status.ACTIVE)
                .select_related("connection")
                .only("connection__name", "tool_name", "upstream_name", "request", "status")
            )
            current = connections.refresh_connections()
            unrunnable = [op.pk for op in active if explain_missing(op, current)]
            return queryset.filter(pk__in=unrunnable)
        if self.value() not in ("differs", "same"):
            return queryset
        differs = Q(op__in=unpublished.find_unpublished_names()[Kind.OP])
        return queryset.filter(differs if self.value() == "differs" else ~differs)


class CallsFilter(SimpleListFilter):
    """Filter ops by their calls in the last seven days."""

    title = "calls in 7 days"
    parameter_name = "week"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("failing", "Failing often"), ("called", "Called"), ("none", "Not called")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Op]) -> QuerySet[Op]:
        which = {"failing": IS_FAILING, "called": Q(week_calls__gt=0), "none": Q(week_calls=0)}
        return queryset.filter(which.get(self.value() or "", Q()))


class OpChangeList(ChangeList):
    """A page of the list. Sets each row's last editor, whether it has unpublished changes, and what it lacks to run."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        prefetch_related_objects(rows, "aliases", "connection")
        current = connections.refresh_connections()  # also one that was added a moment ago
        editors, differs = (
            history.get_last_editors(Kind.OP, [op.op for op in rows]),
            unpublished.find_unpublished_names()[Kind.OP],
        )
        for op in rows:
            op.last_editor, op.is_draft = editors.get(op.op, ""), op.op in differs
            op.missing = explain_missing(op, current)
        self.result_list = rows


def explain_missing(op: Op, current: Connections) -> str:
    """Return what an op lacks to run (see Connections.explain_missing); empty if it can run or is retired."""
    if op.status != Op.Status.ACTIVE:
        return ""
    connection = op.connection.name if op.connection else ""
    return current.explain_missing(UpstreamTarget(connection, op.tool_name, op.upstream_name, bool(op.request)))


class OpListMixin(SwitchableMixin):
    """The list of ops."""

    list_display = tuple("op_path summary kind short full calls failure_rate repair_rate editor draft".split())
    list_filter = [DraftFilter, CallsFilter, "status", "kind", "connection", "source"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return OpChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        unpublished.count_batch()
        return super().changelist_view(request, extra_context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Op]:
        at, op = timezone.now(), OuterRef("op")
        rows: QuerySet[Op] = super().get_queryset(request)
        return rows.annotate(
            week_calls=reports.build_calls_subquery(op, at=at),
            week_failure_rate=reports.build_failure_rate_subquery(op, at=at),
            week_repair_rate=reports.build_repair_rate_subquery(op, at=at),
        )

    @admin.display(description="Op", ordering="op")
    def op_path(self, op: Op) -> str:
        return breakable(op.op)

    @admin.display(description="Short tokens", ordering=F("short_tokens").asc(nulls_first=True))
    def short(self, op: Op) -> str:
        return _format_number(op.short_tokens)

    @admin.display(description="Full tokens", ordering=F("full_tokens").asc(nulls_first=True))
    def full(self, op: Op) -> str:
        return _format_number(op.full_tokens)

    @admin.display(description="Calls in 7 days", ordering="week_calls")
    def calls(self, op: Any) -> str:
        return (
            _format_link(report_query.to_last_days_of_op(op.op, CountedAs.CALLS), _format_number(op.week_calls))
            if op.week_calls
            else "0"
        )

    @admin.display(description="Failed", ordering=F("week_failure_rate").asc(nulls_first=True))
    def failure_rate(self, op: Any) -> str:
        if op.week_failure_rate is None:
            return "–"
        rate = percent(op.week_failure_rate)
        if op.week_calls < reports.MIN_FAILING_CALLS or op.week_failure_rate < reports.MIN_FAILURE_RATE:
            return rate
        return _format_link(report_query.to_last_days_of_op(op.op, CountedAs.FAILED), rate, "ui-text-danger")

    @admin.display(description="Repaired", ordering=F("week_repair_rate").asc(nulls_first=True))
    def repair_rate(self, op: Any) -> str:
        if op.week_repair_rate is None:
            return "–"
        return _format_link(report_query.to_last_days_of_op(op.op, CountedAs.REPAIRED), percent(op.week_repair_rate))

    @admin.display(description="Last editor")
    def editor(self, op: Any) -> str:
        return str(op.last_editor)

    def explain_off(self, row: Op) -> str:
        aliases = [alias.name for alias in row.aliases.all()]
        connection = row.connection.name if row.connection else ""
        return switches.get_switches().explain_off(row.op, aliases=aliases, connection=connection)

    @admin.display(description="State")
    def draft(self, op: Any) -> str:
        draft = format_html('<span class="ui-badge">{}</span>', "draft") if op.is_draft else ""
        tag = '<span class="ui-tag ui-tag--removed" title="{}">cannot run</span>'
        cannot_run = format_html(tag, f"Cannot run: {op.missing}.") if op.missing else ""
        return format_html_join(" ", "{}", ((mark,) for mark in (draft, cannot_run, self.off(op)) if mark))


def _format_number(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _format_link(address: str, text: str, style: str = "") -> str:
    """Return a number as a link to the rows behind it."""
    return format_html('<a href="{}" class="{}">{}</a>', address, style, text)
