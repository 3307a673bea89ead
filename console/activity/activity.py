"""Pages of operation events, turns, tool selections and feedback, with links to related pages."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from analytics.events import problems
from analytics.events.models import UNKNOWN_OP, UNKNOWN_PATH, OperationEvent
from analytics.rollout.models import Cohort
from analytics.turns.models import Feedback, ToolSelection, Turn
from console import contents
from console.activity import event_story, turn_trace
from console.activity.events import PROBLEM_PARAMETER, OperationEventAdmin
from console.activity.turns import FeedbackAdmin, ToolSelectionAdmin, TurnAdmin
from console.connections.figures import ThroughConnectionFilter
from console.log_pages import LogAdmin
from console.reports import saved_views
from registry.models import Op, Release

LabelledLink = tuple[str, str]  # label, URL
SUMMARY_DAYS = 7  # that the summary above the list of events covers, if the reader chose no time


class RelatedLinksAdmin(LogAdmin):
    """A log page with links to what its row names.

    A link appears only if its target exists. The target page checks permissions itself.
    """

    change_form_template = "console/activity/activity_form.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs["obj"]
        context["related"] = list(self.list_related_links(row))
        if name := getattr(row, "short_name", ""):
            context |= {"title": name, "subtitle": None}
        return super().render_change_form(request, context, *args, **kwargs)

    def list_related_links(self, row: Any) -> Iterator[LabelledLink]:
        """Yield the links that all models share."""
        if row.turn:
            turn_filter = {"client__exact": row.client, "session__exact": row.session, "turn__exact": row.turn}
            if not isinstance(row, Turn) and (turn := Turn.objects.filter(**_get_turn_key(row)).first()):
                yield "The turn, step by step", _admin_url("analytics_turn_change", turn.pk)
            yield "Events of the turn", _changelist_url("operationevent", turn_filter)
        for name in row.cohort.split():
            if cohort := Cohort.objects.filter(name=name).first():
                yield f"Cohort {name}", _admin_url("analytics_cohort_change", cohort.pk)
        if row.subject:
            yield "Who gets this?", f"{_admin_url('rollout_who')}?{urlencode({'subject': row.subject})}"
        if release := Release.objects.filter(pk=row.release).only("number", "name").first():
            yield f"Release {release.short_name}", _admin_url("registry_release_change", release.pk)


class ViewsListAdmin(LogAdmin):
    """A log list whose filters can be saved as views."""

    list_before_template = "console/reports/list_with_views.html"

    def build_list_context(self, request: HttpRequest, changelist: ChangeList) -> dict[str, Any]:
        page = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return super().build_list_context(request, changelist) | {"views": saved_views.build_panel(request, page)}


@admin.register(OperationEvent)
class LinkedOperationEventAdmin(ViewsListAdmin, RelatedLinksAdmin, OperationEventAdmin):
    """Operation event. Links to what the model could read and to the call that repaired it."""

    list_filter = [*OperationEventAdmin.list_filter, ThroughConnectionFilter]
    list_before_template = "console/activity/event_list_header.html"
    change_form_template = "console/activity/event_form.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["story"] = event_story.build_story(kwargs["obj"], request)
        return super().render_change_form(request, context, *args, **kwargs)

    def build_list_context(self, request: HttpRequest, changelist: ChangeList) -> dict[str, Any]:
        """Add what went wrong in the events of the list, each problem with the URL of the list of its events.

        Without a chosen time, these are the events of the last days: older problems may be solved.
        """
        events, period = changelist.queryset, {}
        if not any(name.startswith("time__") for name in changelist.params):
            since = timezone.now() - timedelta(days=SUMMARY_DAYS)
            events, period = events.filter(time__gte=since), {"time__gte": since.isoformat(timespec="seconds")}
        causes = problems.count_causes(events)
        links = [
            (cause, changelist.get_query_string({**period, PROBLEM_PARAMETER: cause.problem.key}))
            for cause in causes.most_frequent
        ]
        is_chosen = PROBLEM_PARAMETER in changelist.params
        more = {"causes": causes, "cause_links": links} if causes.counted and not is_chosen else {}
        days = {"summary_days": SUMMARY_DAYS if period else None}
        return super().build_list_context(request, changelist) | more | days

    def list_related_links(self, row: OperationEvent) -> Iterator[LabelledLink]:
        op = Op.objects.filter(op=row.op).first() if row.reason not in (UNKNOWN_OP, UNKNOWN_PATH) else None
        if op and Release.objects.filter(pk=row.release).exists():
            read_url = _admin_url("registry_release_read", row.release)
            yield "What the model could read", f"{read_url}?{urlencode({'op': op.op})}"
        if op:
            yield "Op", _admin_url("registry_op_change", op.pk)
        repair_filter = Q(pk=row.repairs) if row.repairs else Q(pk=None)
        if row.turn:
            repair_filter |= Q(turn=row.turn, session=row.session, repairs=row.pk)
        for other in OperationEvent.objects.filter(repair_filter).order_by("id"):
            label = "The failed call it repaired" if other.pk == row.repairs else "The call that repaired it"
            yield label, _admin_url("analytics_operationevent_change", other.pk)
        yield from super().list_related_links(row)


@admin.register(Turn)
class LinkedTurnAdmin(ViewsListAdmin, RelatedLinksAdmin, TurnAdmin):
    """Turn. Shows it as one trace with its feedback, and links to its events and its reported tool selection."""

    change_form_template = "console/activity/turn_form.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if request.user.has_perm("analytics.view_operationevent"):
            context["trace"] = turn_trace.build_turn_trace(kwargs["obj"], with_contents=contents.may_see(request))
        context["feedback"] = Feedback.objects.filter(**_get_turn_key(kwargs["obj"]))
        return super().render_change_form(request, context, *args, **kwargs)

    def list_related_links(self, row: Turn) -> Iterator[LabelledLink]:
        yield from super().list_related_links(row)
        for selection in ToolSelection.objects.filter(**_get_turn_key(row)):
            yield "Tool selection", _admin_url("analytics_toolselection_change", selection.pk)


@admin.register(ToolSelection)
class LinkedToolSelectionAdmin(RelatedLinksAdmin, ToolSelectionAdmin):
    """Tool selection: the tools given to the model in a turn, and which of them it used."""


@admin.register(Feedback)
class LinkedFeedbackAdmin(RelatedLinksAdmin, FeedbackAdmin):
    """Feedback: what an end user thinks of a turn, with a link to the turn."""


def _get_turn_key(row: Any) -> dict[str, str]:
    return {"client": row.client, "session": row.session, "turn": row.turn}


def _admin_url(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def _changelist_url(model: str, query: dict[str, str]) -> str:
    return f"{_admin_url(f'analytics_{model}_changelist')}?{urlencode(query)}"
