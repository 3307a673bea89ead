"""The list of ops: calls, failures, unpublished changes, and what cannot run. The ops that fail most come first."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.db.models import F, OuterRef, Q, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from analytics import reports
from analytics.events.event_filters import CountedAs
from console import op_tree
from console.access.switches import SwitchableMixin
from console.copy.op_bulk import BulkChangeMixin
from console.reports.parts import report_query
from core.templatetags.admin_format import breakable, percent
from core.text.display import DASH
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

IS_FAILING = Q(week_calls__gte=reports.MIN_FAILING_CALLS, week_failed__gte=F("week_calls") * reports.MIN_FAILURE_RATE)
COLUMNS = ("op_path", "summary", "calls", "failed", "repair_rate", "draft")
MORE_COLUMNS = ("kind", "short", "full", "editor")  # shown to readers who ask for them
COLUMNS_VAR, ALL_COLUMNS = "columns", "all"
WORST_FIRST = f"-{COLUMNS.index('failed') + 1}"
CHOICES_COOKIE = "op_list"  # the reader's last order and columns, as a query
CHOICES_DAYS = 365
MAX_CHOICE_LENGTH = 100  # characters
# Filters that people need daily: (label, parameter, value).
CHIPS = (("Failing", "week", "failing"), ("Unpublished", "draft", "differs"))


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

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        return {name: value for name, value in super().get_filters_params(params).items() if name != COLUMNS_VAR}

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Sort rows that are equal in the chosen columns by name."""
        return [*(each for each in super().get_ordering(request, queryset) if each not in ("pk", "-pk")), "op"]

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
        self.group_links = op_tree.build_links(self, request)


def explain_missing(op: Op, current: Connections) -> str:
    """Return what an op lacks to run (see Connections.explain_missing); empty if it can run or is retired."""
    if op.status != Op.Status.ACTIVE:
        return ""
    connection = op.connection.name if op.connection else ""
    return current.explain_missing(UpstreamTarget(connection, op.tool_name, op.upstream_name, bool(op.request)))


class OpListMixin(SwitchableMixin, BulkChangeMixin):
    """The list of ops."""

    list_display = (*COLUMNS, *MORE_COLUMNS)
    list_before_template = "console/copy/op_list_chips.html"
    list_filter = [op_tree.OpGroupFilter, DraftFilter, CallsFilter, "status", "kind", "connection", "source"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return OpChangeList

    def get_list_display(self, request: HttpRequest) -> Any:
        return self.list_display if request.GET.get(COLUMNS_VAR) == ALL_COLUMNS else COLUMNS

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list in the order and with the columns that this reader chose last."""
        unpublished.count_batch()
        remembered = QueryDict(request.COOKIES.get(CHOICES_COOKIE, ""))
        query: Any = request.GET.copy()
        for name, default in ((ORDER_VAR, WORST_FIRST), (COLUMNS_VAR, "")):
            query.setdefault(name, remembered.get(name, default))
        request.GET = query
        response = super().changelist_view(request, extra_context)
        context: dict[str, Any] = getattr(response, "context_data", None) or {}
        if "cl" in context:  # not so of a redirect
            context["chips"] = _list_chips(context["cl"])
            context["more_columns"] = _link_to_columns(context["cl"])
            response.set_cookie(
                CHOICES_COOKIE,
                urlencode({name: query[name][:MAX_CHOICE_LENGTH] for name in (ORDER_VAR, COLUMNS_VAR)}),
                max_age=timedelta(days=CHOICES_DAYS),
                path=request.path,
                secure=request.is_secure(),
                httponly=True,
                samesite="Lax",
            )
        return response

    def get_queryset(self, request: HttpRequest) -> QuerySet[Op]:
        at, op = timezone.now(), OuterRef("op")
        rows: QuerySet[Op] = super().get_queryset(request)
        return rows.annotate(
            week_calls=reports.build_calls_subquery(op, at=at),
            week_failed=reports.build_failed_calls_subquery(op, at=at),
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

    @admin.display(description="Failed", ordering="week_failed")
    def failed(self, op: Any) -> str:
        if not op.week_calls:
            return DASH
        rate = op.week_failed / op.week_calls
        text = f"{op.week_failed:,} ({percent(rate)})" if op.week_failed else "0"
        if op.week_calls < reports.MIN_FAILING_CALLS or rate < reports.MIN_FAILURE_RATE:
            return text
        return _format_link(report_query.to_last_days_of_op(op.op, CountedAs.FAILED), text, "ui-text-danger")

    @admin.display(description="Repaired", ordering=F("week_repair_rate").asc(nulls_first=True))
    def repair_rate(self, op: Any) -> str:
        if op.week_repair_rate is None:
            return DASH
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


def _list_chips(changelist: ChangeList) -> list[tuple[str, str, bool]]:
    """Return (label, URL, whether it is on) of each chip. The URL turns it on, or off again."""
    return [
        (label, changelist.get_query_string({parameter: None if is_on else value}, [PAGE_VAR]), is_on)
        for label, parameter, value in CHIPS
        for is_on in [changelist.params.get(parameter) == value]
    ]


def _link_to_columns(changelist: ChangeList) -> tuple[str, str]:
    """Return (label, URL) of the link that shows all columns, or only the usual ones again."""
    is_all = changelist.params.get(COLUMNS_VAR) == ALL_COLUMNS
    label = "Fewer columns" if is_all else "More columns"
    return label, changelist.get_query_string({COLUMNS_VAR: "few" if is_all else ALL_COLUMNS})


def _format_number(number: int | None) -> str:
    return DASH if number is None else f"{number:,}"


def _format_link(address: str, text: str, style: str = "") -> str:
    """Return a number as a link to the rows behind it."""
    return format_html('<a href="{}" class="{}">{}</a>', address, style, text)
