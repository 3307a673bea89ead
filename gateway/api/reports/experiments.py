"""The experiments endpoints: list experiments, and show one with its figures, as the console shows them."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from analytics.experiments import results, verdict_text
from analytics.experiments.metrics import METRICS
from analytics.experiments.statistics import ArmVerdict
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.endpoint_docs import (
    NUMBER,
    TEXT,
    build_array,
    build_enum,
    build_object,
    build_query_parameters,
    build_ref,
    describe_endpoint,
)
from gateway.api.reports.views import refuse_bound_key
from gateway.api.requests import PageRequest
from gateway.contracts import request_schemas
from gateway.contracts.errors import NotFoundError
from gateway.models import Scope

COUNT: dict[str, Any] = {"type": "integer"}
FIGURE: dict[str, Any] = {"type": ["number", "null"]}
TIME: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}
METRIC = build_enum(METRICS)
_COMPARED: dict[str, Any] = {
    "metric": METRIC,
    "arm": TEXT,
    "control": FIGURE,
    "value": FIGURE,
    "difference": {**FIGURE, "description": "The arm minus the control."},
    "low": {**FIGURE, "description": "Start of its interval, which is valid at every look."},
    "high": FIGURE,
    "p": NUMBER,
    "verdict": build_enum(ArmVerdict),
    "users": {**build_array(COUNT), "description": "Users with data, of the control and of the arm."},
}
_EXPERIMENT: dict[str, Any] = {
    "id": COUNT,
    "name": TEXT,
    "flag": build_enum(FlagKey),
    "state": build_enum(Experiment.State.values),
    "hypothesis": TEXT,
    "owner": TEXT,
    "primary_metric": METRIC,
    "smallest_effect": {**NUMBER, "description": "In percent of the metric."},
    "share": {**NUMBER, "description": "Percent of the matching users that take part."},
    "guardrails": build_array(METRIC),
    "signals": build_array(METRIC),
    "arms": build_array(build_ref("ExperimentArm")),
    "started_at": TIME,
    "stopped_at": TIME,
    "stop_reason": TEXT,
    "hold_reason": {**TEXT, "description": "Why it waits for a person; empty if it does not."},
    "overridden_steps": {
        **build_array(build_ref("OverriddenStep")),
        "description": "Steps of a guarded release that a person let go on, without a test or although it waited.",
    },
    "decision": build_enum(["", *Experiment.Decision.values]),
    "note": TEXT,
}
COMPONENTS: dict[str, Any] = {
    "ExperimentPage": build_object(
        {"results": build_array(build_ref("ExperimentSummary")), "next_cursor": {"type": ["string", "null"]}},
        description="Experiments, newest first.",
    ),
    "ExperimentSummary": build_object(_EXPERIMENT),
    "ExperimentArm": build_object(
        {"name": TEXT, "variant": TEXT, "weight": COUNT}, description="An arm. The first one is the control."
    ),
    "OverriddenStep": build_object(
        {
            "step": {**COUNT, "description": "From 1."},
            "percent": NUMBER,
            "by": TEXT,
            "at": {**TEXT, "format": "date-time"},
            "is_tested": {"type": "boolean", "description": "Whether each side had enough users for a test."},
            "reason": {**TEXT, "description": "Why it waited; empty if it did not."},
            "note": TEXT,
        }
    ),
    "Experiment": build_object(
        {
            **_EXPERIMENT,
            "verdict": {**TEXT, "description": "A sentence that is true whenever it is read."},
            "planned_subjects": {
                **COUNT,
                "description": "Users that are needed for an 80% chance to find the smallest effect; 0 if not known.",
            },
            "figures": {"oneOf": [build_ref("ExperimentFigures"), {"type": "null"}]},
        },
        description="One experiment, with its newest figures.",
    ),
    "ExperimentFigures": build_object(
        {
            "computed_at": {**TEXT, "format": "date-time"},
            "users": {"type": "object", "additionalProperties": COUNT, "description": "By the name of the arm."},
            "crossed": {**COUNT, "description": "Users who were seen in two arms, and are left out."},
            "sample_ratio_p": {**NUMBER, "description": "Below 0.001, the split is broken: believe no figure."},
            "metrics": build_array(build_ref("ExperimentMetric")),
            "guardrails": build_array(build_ref("ExperimentGuardrail")),
            "ops": build_array(build_ref("ExperimentPart")),
            "models": build_array(build_ref("ExperimentPart")),
            "clients": {**build_array(build_ref("ExperimentPart")), "description": "Your own client only."},
        }
    ),
    "ExperimentMetric": build_object(_COMPARED, description="A metric of an arm beside the control."),
    "ExperimentGuardrail": build_object({**_COMPARED, "kind": build_enum(["guardrail", "signal"])}),
    "ExperimentPart": build_object(
        {**_COMPARED, "part": TEXT}, description="An op, a model family or a client: exploratory."
    ),
}
experiments_list = describe_endpoint(
    id="list_experiments",
    summary="List the experiments, newest first",
    body=None,
    answers={200: OpenApiResponse(build_ref("ExperimentPage"), description="A page of experiments.")},
    parameters=build_query_parameters(request_schemas.LIST_QUERY),
)
experiment_get = describe_endpoint(
    id="get_experiment",
    summary="Get one experiment: its verdict and its figures",
    body=None,
    answers={200: OpenApiResponse(build_ref("Experiment"), description="The experiment.")},
)


def list_experiments(page: PageRequest) -> Mapping[str, Any]:
    """Return a page of experiments, newest first: {results, next_cursor}."""
    return requests.build_page(_query_experiments(), page, _serialize_experiment, time="created_at", key="name")


def get_experiment(key: int, caller: Caller) -> dict[str, Any]:
    """Return one experiment with its newest stored figures. Raises NotFoundError."""
    experiment = _query_experiments().filter(pk=key).first()
    if experiment is None:
        message = "This experiment does not exist. GET /api/v1/experiments lists all experiments."
        raise NotFoundError(message, reason="unknown_experiment")
    latest = results.get_latest(experiment)
    figures = latest.figures if latest else None
    return {
        **_serialize_experiment(experiment),
        "verdict": verdict_text.describe_verdict(experiment, figures).text,
        "planned_subjects": experiment.planned_subjects,
        "figures": _serialize_figures(figures, caller) | {"computed_at": latest.time} if latest and figures else None,
    }


def _query_experiments() -> QuerySet[Experiment]:
    return Experiment.objects.prefetch_related("arms")


def _serialize_experiment(experiment: Experiment) -> dict[str, Any]:
    plain = ("name", "state", "hypothesis", "owner", "primary_metric", "smallest_effect", "guardrails", "signals")
    ends = ("started_at", "stopped_at", "stop_reason", "hold_reason", "overridden_steps", "decision", "note")
    return {
        "id": experiment.pk,
        **{name: getattr(experiment, name) for name in (*plain, *ends)},
        "flag": experiment.flag_id,
        "share": float(experiment.share),
        "arms": [{"name": arm.name, "variant": arm.variant, "weight": arm.weight} for arm in experiment.list_arms()],
    }


def _serialize_figures(figures: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Return the stored figures, without those of other clients."""
    rows = {
        name: [_serialize_row(each) for each in figures[name]] for name in ("metrics", "guardrails", "ops", "models")
    }
    clients = [_serialize_row(each) for each in figures["clients"] if each["part"] == caller.key.client]
    counts = {"users": figures["subjects"], "crossed": figures["crossed"], "sample_ratio_p": figures["sample_ratio_p"]}
    return {**counts, **rows, "clients": clients}


def _serialize_row(row: Mapping[str, Any]) -> dict[str, Any]:
    names = (*_COMPARED, *(name for name in ("kind", "part") if name in row))
    return {name: row[name] for name in names}


class ExperimentView(GatewayView):
    """Base view of experiments, which cover the users of all clients."""

    scope = Scope.REPORTS

    def read_caller(self) -> Caller:
        """Return the caller. Raises PermissionDeniedError for a key of one user."""
        caller = self.require_caller()
        refuse_bound_key(caller)
        return caller


class ExperimentListView(ExperimentView):
    """experiments: list the experiments."""

    @experiments_list
    def get(self, request: HttpRequest) -> HttpResponse:
        self.read_caller()
        page = requests.parse_list_query(requests.parse_query_string(request.META["QUERY_STRING"])).page
        return HttpResponse(orjson.dumps(list_experiments(page)), content_type=JSON_CONTENT_TYPE)


class ExperimentDetailView(ExperimentView):
    """experiments/<id>: one experiment with its figures."""

    @experiment_get
    def get(self, request: HttpRequest, id: int) -> HttpResponse:
        return HttpResponse(orjson.dumps(get_experiment(id, self.read_caller())), content_type=JSON_CONTENT_TYPE)
