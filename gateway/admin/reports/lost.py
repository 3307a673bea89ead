"""Report: unknown names and loops, where models get stuck."""

from collections.abc import Collection
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from analytics import links
from analytics.models import Turn
from analytics.reports import lost, totals
from analytics.reports.scope import Scope
from analytics.reports.totals import Totals
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked, called
from gateway.admin.reports.showing import Figure, Report
from gateway.admin.reports.tables import Cell, Column, Table
from registry.models import Group, Op, OpAlias, name_validator

LEAD = (
    "Names that models called or looked up but that do not exist, and turns that repeated the same call three times or "
    "more. If a name is frequent, add it as an alias of the op it means."
)
NAMES = [Column("Name sent"), Column("Times", tables.count), Column("Alias of")]
MAKE_ONE = SafeString("Add alias")
LOOPS = [
    *(Column("Turn"), Column("Repeated calls", tables.count), Column("Calls", tables.count)),
    *(Column("Failed", tables.count), Column("Model"), Column("Release"), Column("Started")),
]


def page(request: HttpRequest) -> HttpResponse:
    """Show the rates of unknown names and loops, with the names and the turns."""
    showing.check(request)
    asked = Asked(request)
    total = totals.total(asked.scope)
    report = Report(
        lead=LEAD,
        figures=_figures(asked.scope, total),
        tables=[_names(request, asked.scope), _loops(asked.scope)],
        is_empty=not (total.calls or total.turns),
    )
    return showing.answer(request, "report_lost", asked, report)


def _figures(scope: Scope, total: Totals) -> list[Figure]:
    per_thousand = total.unknown_per_thousand
    unknown = links.events(scope, links.UNKNOWN)
    return [
        Figure(
            *("Unknown names", "–" if per_thousand is None else tables.mean(per_thousand)),
            *(f"per 1,000 calls, {tables.count(total.unknown_names)} in all", unknown),
        ),
        Figure(
            *("Turns with an unknown name", tables.count(total.lost)),
            *(f"of {tables.count(total.turns)}", links.turns(scope, {"unknown_names__gt": 0})),
        ),
        Figure(
            *("Turns with a loop", tables.count(total.looping)),
            *(f"of {tables.count(total.turns)}", links.turns(scope, links.LOOPING)),
        ),
    ]


def _names(request: HttpRequest, scope: Scope) -> Table:
    found = lost.names(scope)
    aliases = _aliases(request, [each.name for each in found])
    rows = [
        [
            Cell(each.name),
            Cell(each.times, links.events(scope, {"op__exact": each.name}, links.UNKNOWN)),
            aliases.get(each.name, Cell(None)),
        ]
        for each in found
    ]
    return Table("names", "Unknown names", NAMES, rows)


def _aliases(request: HttpRequest, names: Collection[str]) -> dict[str, Cell]:
    """Return a cell per name: the op it is an alias of in the draft, or a link to add an alias, if permitted."""
    made = OpAlias.objects.filter(name__in=names).values_list("name", "op__op", "op_id")
    cells = {name: Cell(op, reverse("admin:registry_op_change", args=[pk])) for name, op, pk in made}
    if request.user.has_perm("registry.add_opalias"):
        taken, add = _taken(names), reverse("admin:registry_opalias_add")
        for name in names:
            if name not in cells and name not in taken and _can_be_one(name):
                cells[name] = Cell("", f"{add}?{urlencode({'name': name})}", MAKE_ONE)
    return cells


def _taken(names: Collection[str]) -> set[str]:
    """Return the names that ops and groups of the draft already use."""
    ops = Op.objects.filter(Q(op__in=names) | Q(tool_name__in=names)).values_list("op", "tool_name")
    return {name for pair in ops for name in pair} | set(
        Group.objects.filter(path__in=names).values_list("path", flat=True)
    )


def _can_be_one(name: str) -> bool:
    try:
        name_validator(name)
    except ValidationError:
        return False
    return True


def _loops(scope: Scope) -> Table:
    return Table("loops", "Turns with the longest loops", LOOPS, [_loop(each) for each in lost.worst_loops(scope)])


def _loop(turn: Turn) -> list[Cell]:
    address = reverse("admin:analytics_turn_change", args=[turn.pk])
    return [
        *(Cell(turn.turn, address), Cell(turn.repeats), Cell(turn.calls), Cell(turn.failed)),
        *(Cell(called("model", turn.model)), Cell(called("release", turn.release))),
        Cell(turn.time.isoformat(" ", "minutes"), drawn=escape(date_format(localtime(turn.time), "DATETIME_FORMAT"))),
    ]
