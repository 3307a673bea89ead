"""Admin pages for operation events, turns and tool selections, with links to related pages."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from analytics.admin import LogAdmin, OperationEventAdmin, ToolSelectionAdmin, TurnAdmin
from analytics.models import Cohort, OperationEvent, ToolSelection, Turn
from registry.models import Op, Release

Link = tuple[str, str]  # label, URL

UNKNOWN = ("unknown_op", "unknown_path")  # error reasons of calls whose op does not exist


class Leading(LogAdmin):
    """A log page with links to what its row names.

    A link appears only if its target exists. The target page checks permissions itself.
    """

    change_form_template = "gateway/log_form.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["related"] = list(self.related(kwargs["obj"]))
        return super().render_change_form(request, context, *args, **kwargs)

    def related(self, row: Any) -> Iterator[Link]:
        """Yield the links that all three models share."""
        if row.turn:
            of_turn = {"client__exact": row.client, "session__exact": row.session, "turn__exact": row.turn}
            yield "Events of the turn", _list("operationevent", of_turn)
        for name in row.cohort.split():
            if cohort := Cohort.objects.filter(name=name).first():
                yield f"Cohort {name}", _page("analytics_cohort_change", cohort.pk)
        if row.subject:
            yield "Who gets this?", f"{_page('rollout_who')}?{urlencode({'subject': row.subject})}"
        if Release.objects.filter(pk=row.release).exists():
            yield f"Release {row.release[:12]}", _page("registry_release_change", row.release)


@admin.register(OperationEvent)
class EventPage(Leading, OperationEventAdmin):
    """Operation event. Links to what the model could read and to the call that repaired it."""

    def related(self, row: OperationEvent) -> Iterator[Link]:
        op = Op.objects.filter(op=row.op).first() if row.reason not in UNKNOWN else None
        if op and Release.objects.filter(pk=row.release).exists():
            read = _page("registry_release_read", row.release)
            yield "What the model could read", f"{read}?{urlencode({'op': op.op})}"
        if op:
            yield "Op", _page("registry_op_change", op.pk)
        mended = Q(pk=row.mends) if row.mends else Q(pk=None)
        if row.turn:
            mended |= Q(turn=row.turn, session=row.session, mends=row.pk)
        for other in OperationEvent.objects.filter(mended).order_by("id"):
            label = "The failed call it repaired" if other.pk == row.mends else "The call that repaired it"
            yield label, _page("analytics_operationevent_change", other.pk)
        yield from super().related(row)


@admin.register(Turn)
class TurnPage(Leading, TurnAdmin):
    """Turn. Links to its events and to the tool selection reported for it."""

    def related(self, row: Turn) -> Iterator[Link]:
        yield from super().related(row)
        told = {"client": row.client, "session": row.session, "turn": row.turn}
        for selection in ToolSelection.objects.filter(**told):
            yield "Tool selection", _page("analytics_toolselection_change", selection.pk)


@admin.register(ToolSelection)
class ToolSelectionPage(Leading, ToolSelectionAdmin):
    """Tool selection: the tools given to the model in a turn, and which of them it used."""


def _page(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def _list(model: str, query: dict[str, str]) -> str:
    return f"{_page(f'analytics_{model}_changelist')}?{urlencode(query)}"
