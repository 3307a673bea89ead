"""The page of alerts: the open ones with what to do, silencing them, and those that closed."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from analytics.alerts import alert_text, silences
from analytics.alerts.metrics import AlertMetric, AlertScope
from analytics.alerts.models import Alert
from analytics.alerts.silences import AlertClosed
from analytics.events.event_filters import COUNTED_AS_PARAMETER, CountedAs, build_op_query
from analytics.reports.report_filter import COHORT_PARAMETER
from analytics.turns.models import TURN_WITH_PARAMETER, TurnWith
from registry.models import Connection

SEE_ALERTS = ["analytics.view_alert"]
CLOSED_DAYS = 7
MAX_SHOWN = 100
MAX_ON_HOME = 5
HOUR = 60  # minutes
SILENCE_PERIODS = ((HOUR, "1 hour"), (8 * HOUR, "8 hours"), (24 * HOUR, "1 day"), (7 * 24 * HOUR, "1 week"))


class SilenceForm(forms.Form):
    """For how long to silence an alert, and why."""

    minutes = forms.TypedChoiceField(
        label="For", choices=SILENCE_PERIODS, coerce=int, widget=UnfoldAdminSelectWidget, initial=8 * HOUR
    )
    reason = forms.CharField(
        max_length=300,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "ana is repairing the service"}),
    )


class ShownAlert(NamedTuple):
    """An alert on the page: its title, what happened, what to do, and the rows behind it."""

    alert: Alert
    title: str
    latest: str
    worst: str
    link: str
    link_label: str
    form: SilenceForm


def show_alerts(request: HttpRequest) -> HttpResponse:
    """List the open alerts, those that need somebody first, then those that closed."""
    if not request.user.has_perms(SEE_ALERTS):
        raise PermissionDenied
    at = timezone.now()
    closed = Alert.objects.filter(closed_at__gt=at - timedelta(days=CLOSED_DAYS)).select_related("rule")
    shown = describe_alerts(list_open(), at)
    context = {
        "title": "Alerts",
        "active": [each for each in shown if not each.alert.is_silenced],
        "silenced": [each for each in shown if each.alert.is_silenced],
        "closed": describe_alerts(closed.order_by("-closed_at", "-pk")[:MAX_SHOWN], at),
        "days": CLOSED_DAYS,
        "may_silence": request.user.has_perm("analytics.change_alert"),
    }
    return TemplateResponse(request, "console/home/alerts_page.html", admin.site.each_context(request) | context)


@require_POST
def change_silence(request: HttpRequest, pk: int) -> HttpResponse:
    """Silence an alert, or end its silence if no reason is sent with `end`."""
    if not request.user.has_perm("analytics.change_alert"):
        raise PermissionDenied
    alert = Alert.objects.select_related("rule").filter(pk=pk).first()
    if alert is None:
        raise Http404("This alert does not exist.")
    at, by, title = timezone.now(), str(request.user), alert_text.name_alert(alert)
    form = SilenceForm(request.POST)
    try:
        if "end" in request.POST:
            silences.end_silence(alert, by=by, at=at)
            messages.success(request, f"{title} sends messages again.")
        elif form.is_valid():
            until = at + timedelta(minutes=form.cleaned_data["minutes"])
            silences.silence_alert(alert, until=until, reason=form.cleaned_data["reason"], by=by, at=at)
            messages.success(request, f"{title} is silenced. It stays on this page until it closes.")
        else:
            messages.error(request, "Nothing was silenced. Give a reason.")
    except AlertClosed as error:
        messages.warning(request, str(error))
    return redirect("admin:alerts")


def list_open() -> list[Alert]:
    """Return the open alerts, the latest first. Those of one check come in the order of its message."""
    rows = Alert.objects.filter(closed_at=None).select_related("rule")
    return list(rows.order_by("-opened_at", "pk")[:MAX_SHOWN])


def build_alerts(_: HttpRequest) -> dict[str, Any]:
    """Return the open alerts that need somebody, for the home page."""
    rows = list_open()
    active = [each for each in rows if not each.is_silenced]
    return {
        "active": describe_alerts(active[:MAX_ON_HOME], timezone.now()),
        "more": max(0, len(active) - MAX_ON_HOME),
        "silenced": len(rows) - len(active),
        "is_urgent": bool(active),
        "is_quiet": not active,
    }


def describe_alerts(alerts: Iterable[Alert], at: datetime) -> list[ShownAlert]:
    """Return the alerts with all that the page shows of them."""
    alerts = list(alerts)
    titles = alert_text.name_alerts(alerts)
    names = [each.scope_value for each in alerts if each.rule.scope == AlertScope.CONNECTION]
    connections = dict(Connection.objects.filter(name__in=names).values_list("name", "pk"))
    return [
        ShownAlert(
            alert,
            titles[alert],
            alert_text.describe_latest(alert),
            alert_text.describe_worst(alert),
            *_build_link(alert, connections, at),
            SilenceForm(auto_id=f"id_{alert.pk}_%s"),
        )
        for alert in alerts
    ]


def _build_link(alert: Alert, connections: dict[str, int], at: datetime) -> tuple[str, str]:
    """Return the URL of the rows that show what happened, and its label."""
    rule, metric = alert.rule, AlertMetric(alert.rule.metric)
    if rule.scope == AlertScope.CONNECTION:
        pk = connections.get(alert.scope_value)
        name = "changes" if metric == AlertMetric.CHANGED_UPSTREAM else "change"
        return (reverse(f"admin:registry_connection_{name}", args=[pk]), "Open the connection") if pk else ("", "")
    if metric in FIXED_LINKS:
        name, label = FIXED_LINKS[metric]
        return reverse(f"admin:{name}"), label
    model, query, label = ROW_LINKS[metric]
    if metric == AlertMetric.SLOW_CALLS:
        query = {**query, "latency_ms__gt": f"{rule.threshold:g}"}
    begin = alert.opened_at - timedelta(minutes=rule.minutes)
    times = {"time__gte": begin.isoformat(), "time__lt": (alert.closed_at or at).isoformat()}
    parameters = urlencode({**times, **query, **_build_scope_query(alert)})
    return f"{reverse(f'admin:analytics_{model}_changelist')}?{parameters}", label


def _build_scope_query(alert: Alert) -> dict[str, str]:
    match alert.rule.scope:
        case AlertScope.OP:
            return build_op_query(alert.scope_value)
        case AlertScope.COHORT:
            return {COHORT_PARAMETER: alert.scope_value}
        case AlertScope.CLIENT | AlertScope.RELEASE:
            return {f"{alert.rule.scope}__exact": alert.scope_value}
        case _:
            return {}


# The list that shows what each metric counted, and the label of the link.
ROW_LINKS: dict[AlertMetric, tuple[str, dict[str, str], str]] = {
    AlertMetric.FAILED_CALLS: ("operationevent", {COUNTED_AS_PARAMETER: CountedAs.FAILED}, "Open the failed calls"),
    AlertMetric.SLOW_CALLS: ("operationevent", {COUNTED_AS_PARAMETER: CountedAs.CALLS}, "Open the slow calls"),
    AlertMetric.UNKNOWN_NAMES: (
        "operationevent",
        {COUNTED_AS_PARAMETER: CountedAs.UNKNOWN_NAMES},
        "Open the unknown names",
    ),
    AlertMetric.EMPTY_SEARCHES: ("operationevent", {COUNTED_AS_PARAMETER: CountedAs.MISSES}, "Open the searches"),
    AlertMetric.MISSED_TOOLS: ("toolselection", {"missing": "yes"}, "Open the turns"),
    AlertMetric.LOOPS: ("turn", {TURN_WITH_PARAMETER: TurnWith.LOOP}, "Open the turns"),
    AlertMetric.SPENDING: ("toolselection", {}, "Open the turns"),
}
FIXED_LINKS = {
    AlertMetric.LOST_EVENTS: ("analytics_eventloss_changelist", "Open the losses"),
    AlertMetric.LOCKED_SIGN_INS: ("axes_accessattempt_changelist", "Open the failed sign-ins"),
}
