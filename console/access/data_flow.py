"""The page "Data flow": which rule would hold for the calls of a turn, and why. Nothing runs."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from analytics.events.models import OperationEvent
from core.admin import base
from core.admin.form_fields import LinesField
from gateway.data_flow import policy
from gateway.data_flow.policy import FlowPolicy, ReplayedCall
from gateway.models import Client, FlowMode
from registry.catalog import cache, connections
from registry.catalog.model import Catalog, CatalogOp
from registry.flow_labels import sort_flow_labels

SEE_DATA_FLOW = ["gateway.view_client"]  # permissions of the page
SEE_TURNS = "analytics.view_operationevent"
MAX_CALLS = 200


class DataFlowForm(forms.Form):
    """The calls to judge: ops in their order, or those of a turn, and the client whose rules count."""

    ops = LinesField(
        longest=200,
        required=False,
        widget=base.LINES_WIDGET,
        help_text="One op a line, in the order of their calls.",
    )
    turn = forms.CharField(
        max_length=200,
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Instead: the id of a turn, as in Gateway-Turn. Its calls are read from the events.",
    )
    client = forms.ModelChoiceField(
        Client.objects.order_by("name"),
        required=False,
        widget=UnfoldAdminSelectWidget(),
        empty_label="The rules of the gateway",
    )

    def __init__(self, *args: Any, catalog: Catalog, may_see_turns: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.catalog = catalog
        if not may_see_turns:
            del self.fields["turn"]

    def clean_ops(self) -> list[CatalogOp]:
        """Return the ops. Raises ValidationError with the names that no op has."""
        names: list[str] = self.cleaned_data["ops"]
        if unknown := [name for name in names if self.catalog.find_op(name) is None]:
            raise ValidationError(f"No op of the live release has this name: {', '.join(unknown[:5])}.")
        return _find_ops(self.catalog, names)

    def clean(self) -> dict[str, Any]:
        """Take the ops from the turn. Raises ValidationError if there are none, or ops and a turn."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        if bool(cleaned["ops"]) == bool(turn := cleaned.get("turn", "")):
            raise ValidationError("Enter ops or a turn, one of the two.")
        if turn:
            cleaned["ops"] = _find_ops(self.catalog, _list_calls(turn).values_list("op", flat=True)[:MAX_CALLS])
            if not cleaned["ops"]:
                raise ValidationError({"turn": "The events have no call of this turn whose op the live release has."})
        return cleaned


def show_data_flow(request: HttpRequest) -> HttpResponse:
    """Show which rule would hold for each call, as if the mode was enforce."""
    if not request.user.has_perms(SEE_DATA_FLOW):
        raise PermissionDenied
    form = DataFlowForm(
        request.GET or None, catalog=cache.get_live_catalog(), may_see_turns=request.user.has_perm(SEE_TURNS)
    )
    client = form.cleaned_data["client"] if form.is_bound and form.is_valid() else None
    current = policy.build_policy(client.data_flow, client.data_flow_rules) if client else policy.build_policy("", "")
    context: dict[str, Any] = {"title": "Data flow", "form": form, "rules": current.rules, "mode": current.mode}
    if form.is_bound and form.is_valid():
        # In shadow, a call that would be refused still runs, and its data comes in.
        as_enforced = FlowPolicy(FlowMode.ENFORCE, current.rules)
        calls = policy.replay(as_enforced, form.cleaned_data["ops"], connections.get_connections())
        context["calls"] = [_describe_call(call) for call in calls]
        context["held"] = sum(call.decision is not None for call in calls)
    return TemplateResponse(request, "console/access/data_flow.html", admin.site.each_context(request) | context)


def _describe_call(call: ReplayedCall) -> dict[str, Any]:
    decision = call.decision
    outcome = "runs"
    if decision is not None:
        outcome = "refused" if decision.refuses else "asks the user"
    return {
        "op": call.op.op,
        "labels": ", ".join(sort_flow_labels(call.labels)) or "none",
        "outcome": outcome,
        "why": decision.explain(call.op) if decision else "",
    }


def _list_calls(turn: str) -> QuerySet[OperationEvent]:
    calls = OperationEvent.objects.filter(turn=turn, type=OperationEvent.Type.EXEC, dry_run=False, replayed=False)
    return calls.order_by("time", "id")


def _find_ops(catalog: Catalog, names: Any) -> list[CatalogOp]:
    return [op for name in names if (op := catalog.find_op(name)) is not None]
