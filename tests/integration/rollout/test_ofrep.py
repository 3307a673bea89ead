"""Flags through the OpenFeature Remote Evaluation Protocol (OFREP)."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout import assignment, exposures
from analytics.rollout.evaluation import EvaluationDetails, Reason
from analytics.rollout.models import Assignment, Cohort, CohortRule
from gateway.access import api_keys
from gateway.models import Client, Scope
from registry.catalog import cache
from registry.models import Op
from registry.releases import lifecycle, publishing, stored_releases
from tests.support.loops import for_each

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway_enabled")]

SURFACE = FlagKey.SURFACE.value
FLAGS_URL = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def headers(db: None) -> dict[str, str]:
    _, plaintext = api_keys.issue(client=Client.objects.create(name="chat"), by="tests", scopes=[Scope.FLAGS])
    return {"HTTP_AUTHORIZATION": f"Bearer {plaintext}"}


def make_cohort(name: str = "dev-team", flag: str = SURFACE, **fields: Any) -> Cohort:
    cohort = Cohort.objects.create(**{"name": name, "flag_id": flag, "variant": "gateway", "percentage": 100} | fields)
    assignment.refresh_rollout()
    return cohort


def evaluate_flag(
    http: HttpClient, headers: dict[str, str], key: str = SURFACE, **context: Any
) -> tuple[int, dict[str, Any]]:
    body = {"context": {"targetingKey": "ana", **context}}
    response = http.post(f"{FLAGS_URL}/{key}", body, content_type="application/json", **headers)
    return response.status_code, response.json()


def test_evaluation_without_a_cohort_is_the_default(client: HttpClient, headers: dict[str, str]) -> None:
    expected = {"key": SURFACE, "value": "legacy", "variant": "legacy", "reason": "DEFAULT", "metadata": {}}

    assert evaluate_flag(client, headers) == (200, expected)


@pytest.mark.parametrize(("percentage", "reason"), [(100, "TARGETING_MATCH"), (99.99, "SPLIT")])
def test_evaluation_returns_the_cohort_and_the_reason(
    client: HttpClient, headers: dict[str, str], percentage: float, reason: str
) -> None:
    make_cohort(percentage=percentage)
    status, body = evaluate_flag(client, headers)

    assert (status, body["value"], body["reason"], body["metadata"]) == (200, "gateway", reason, {"cohort": "dev-team"})


def test_master_switch_disables_only_the_surface_flag(
    client: HttpClient, headers: dict[str, str], settings: Any
) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False
    make_cohort()

    assert evaluate_flag(client, headers)[1]["reason"] == "DISABLED"
    assert evaluate_flag(client, headers)[1]["value"] == "legacy"
    assert evaluate_flag(client, headers, FlagKey.RELEASE)[1]["reason"] == "DEFAULT"


def test_rules_match_the_context_and_the_client_of_the_key(client: HttpClient, headers: dict[str, str]) -> None:
    cohort = make_cohort()
    for attribute, trait, values in (
        ("client", "", ["chat"]),
        ("environment", "", ["dev"]),
        ("model_family", "", ["claude"]),
        ("trait", "plan", ["pro"]),
    ):
        CohortRule.objects.create(cohort=cohort, attribute=attribute, trait=trait, values=values)
    assignment.refresh_rollout()
    context = {"environment": "dev", "model": "claude-sonnet-4-5", "plan": "pro"}

    assert evaluate_flag(client, headers, **context)[1]["value"] == "gateway"
    assert (
        evaluate_flag(client, headers, **context, client="other")[1]["value"] == "gateway"
    )  # the client comes from the key
    assert evaluate_flag(client, headers, **{**context, "plan": "free"})[1]["value"] == "legacy"


def test_single_evaluation_records_an_exposure_and_bulk_does_not(client: HttpClient, headers: dict[str, str]) -> None:
    make_cohort()
    body = {"context": {"targetingKey": "ana"}}
    client.post(FLAGS_URL, body, content_type="application/json", **headers)
    exposures.flush()
    assert not Assignment.objects.exists()

    for _ in range(2):
        evaluate_flag(client, headers)
    exposures.flush()

    assert [(each.flag, each.variant, each.cohort, each.subject) for each in Assignment.objects.all()] == [
        (SURFACE, "gateway", "dev-team", "ana")
    ]


def test_bulk_evaluation_has_an_etag(client: HttpClient, headers: dict[str, str]) -> None:
    body = {"context": {"targetingKey": "ana"}}
    first = client.post(FLAGS_URL, body, content_type="application/json", **headers)
    same = client.post(
        FLAGS_URL, body, content_type="application/json", HTTP_IF_NONE_MATCH=first.headers["ETag"], **headers
    )
    make_cohort()
    other = client.post(
        FLAGS_URL, body, content_type="application/json", HTTP_IF_NONE_MATCH=first.headers["ETag"], **headers
    )

    assert {flag["key"]: flag["value"] for flag in first.json()["flags"]} == {
        SURFACE: "legacy",
        FlagKey.RELEASE: "live",
        FlagKey.SELECTION: "static",
    }
    assert (same.status_code, same.content) == (304, b"")
    assert (other.status_code, other.json()["flags"][0]["value"]) == (200, "gateway")


def test_release_flag_falls_back_to_live_when_the_release_is_withdrawn(
    client: HttpClient, headers: dict[str, str], live_catalog: Any
) -> None:
    pinned = stored_releases.get_live_release().version
    Op.objects.filter(op="onto.task.get").update(summary="Read one task")
    publishing.publish_draft(note="Next", by="tests", at=timezone.now())
    make_cohort("copy-a", FlagKey.RELEASE, variant=pinned)
    assert evaluate_flag(client, headers, FlagKey.RELEASE)[1]["value"] == pinned

    lifecycle.withdraw_release(version=pinned, reason="Wrong", by="tests", at=timezone.now())
    cache.drop_withdrawn()

    after = evaluate_flag(client, headers, FlagKey.RELEASE)[1]
    assert (after["value"], after["reason"], after["metadata"]) == ("live", "DEFAULT", {})


@for_each(
    "body, code",
    [
        ("{", "PARSE_ERROR"),
        ("{}", "INVALID_CONTEXT"),
        ('{"context": {}}', "TARGETING_KEY_MISSING"),
        ('{"context": {"targetingKey": 7}}', "INVALID_CONTEXT"),
        ('{"context": {"targetingKey": "ana", "environment": []}}', "INVALID_CONTEXT"),
    ],
)
def test_malformed_body_gets_the_error_code_of_the_protocol(
    client: HttpClient, headers: dict[str, str], body: str, code: str
) -> None:
    for url in (FLAGS_URL, f"{FLAGS_URL}/{SURFACE}"):
        response = client.post(url, body, content_type="application/json", **headers)

        assert (response.status_code, response.json()["errorCode"]) == (400, code)
        assert response.json()["errorDetails"]


@pytest.mark.parametrize("fields", [{"subject": "ana"}, {"subject_pattern": "ana*"}])
def test_key_evaluates_flags_only_for_subjects_that_it_may_act_for(
    client: HttpClient, make_key: Callable[..., str], fields: dict[str, str]
) -> None:
    make_cohort()
    headers = {"HTTP_AUTHORIZATION": f"Bearer {make_key(**fields)}"}

    assert evaluate_flag(client, headers)[0] == 200
    for subject in ("ben", "Ana", "*", "an"):
        for url in (FLAGS_URL, f"{FLAGS_URL}/{SURFACE}"):
            body = {"context": {"targetingKey": subject}}
            response = client.post(url, body, content_type="application/json", **headers)
            assert (response.status_code, response.json()["errorCode"]) == (403, "GENERAL")
            assert response.json()["errorDetails"] == "This API key cannot act for this subject."

    exposures.flush()
    assert set(Assignment.objects.values_list("subject", flat=True)) == {"ana"}


@for_each("subject", ["an a", "an\u00e1", "ana\n", "ana\u202e", "a" * 201, "\ud800"])
def test_subject_that_no_header_can_name_is_refused(client: HttpClient, headers: dict[str, str], subject: str) -> None:
    body = json.dumps({"context": {"targetingKey": subject}})

    response = client.post(f"{FLAGS_URL}/{SURFACE}", body, content_type="application/json", **headers)

    assert response.status_code == 400
    assert response.json()["errorCode"] in ("INVALID_CONTEXT", "PARSE_ERROR")


def test_key_adds_so_many_exposures_an_hour_and_flags_are_evaluated_all_the_same(
    client: HttpClient, make_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exposures, "MAX_AN_HOUR", 3)
    make_cohort()
    noisy, other = ({"HTTP_AUTHORIZATION": f"Bearer {make_key()}"} for _ in range(2))

    for number in range(10):
        assert evaluate_flag(client, noisy, targetingKey=f"invented-{number}")[1]["value"] == "gateway"
    assert evaluate_flag(client, other, targetingKey="ben")[0] == 200

    exposures.flush()
    assert Assignment.objects.count() <= 2 * 3 + 1  # twice, if an hour begins meanwhile
    assert Assignment.objects.filter(subject="ben").exists()
    assert "exposures.quota_reached" in caplog.text


def test_exposure_over_the_quota_is_recorded_in_the_next_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposures, "MAX_AN_HOUR", 1)
    outcome = EvaluationDetails(FlagKey.SURFACE, "gateway", "dev-team", Reason.SPLIT)
    hour = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

    for subject, at in (("ana", hour), ("ben", hour), ("ben", hour + timedelta(hours=1))):
        exposures.record_exposures([outcome], subject=subject, source="key", at=at)
    exposures.flush()

    times = dict(Assignment.objects.values_list("subject", "time"))
    assert times == {"ana": hour, "ben": hour + timedelta(hours=1)}


def test_unknown_flag_is_not_found(client: HttpClient, headers: dict[str, str]) -> None:
    status, body = evaluate_flag(client, headers, "nothing")

    assert (status, body["key"], body["errorCode"]) == (404, "nothing", "FLAG_NOT_FOUND")


def test_evaluation_needs_the_flags_scope(client: HttpClient, db: None) -> None:
    _, plaintext = api_keys.issue(client=Client.objects.create(name="other"), by="tests", scopes=[Scope.HELP])

    assert evaluate_flag(client, {})[0] == 401
    assert evaluate_flag(client, {"HTTP_AUTHORIZATION": f"Bearer {plaintext}"})[0] == 403


@for_each("url", [FLAGS_URL, f"{FLAGS_URL}/{SURFACE}"])
def test_endpoints_refuse_every_method_without_a_key(client: HttpClient, db: None, url: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        response = client.generic(method, url, b"{}", "application/json")

        assert (response.status_code, response.json()["errorCode"]) == (401, "GENERAL")
        assert response.headers["WWW-Authenticate"] == "Bearer"


@for_each("url", [FLAGS_URL, f"{FLAGS_URL}/{SURFACE}"])
def test_endpoints_refuse_other_methods_and_large_bodies(client: HttpClient, headers: dict[str, str], url: str) -> None:
    other = client.get(url, **headers)
    large = client.post(url, b" " * 1_000_001, content_type="application/json", **headers)

    assert (other.status_code, other.headers["Allow"]) == (405, "POST")
    assert large.status_code == 413
