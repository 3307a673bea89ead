"""Our flags through the OpenFeature Remote Evaluation Protocol, as its clients see them."""

from typing import Any

import pytest
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.models import Assignment, Cohort, CohortRule
from analytics.rollout import exposures, rollout_cache
from analytics.rollout.flags import FlagKey
from gateway.clients import api_keys
from gateway.models import Client, Scope
from registry.catalog import model
from registry.models import Op
from registry.releases import publishing

pytestmark = pytest.mark.django_db

SURFACE = FlagKey.SURFACE.value
PLACE = "/ofrep/v1/evaluate/flags"


@pytest.fixture(autouse=True)
def _switched_on(settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True


@pytest.fixture
def headers(db: None) -> dict[str, str]:
    _, plaintext = api_keys.issue(client=Client.objects.create(name="chat"), by="tests", scopes=[Scope.FLAGS])
    return {"HTTP_AUTHORIZATION": f"Bearer {plaintext}"}


def make_cohort(name: str = "dev-team", flag: str = SURFACE, **fields: Any) -> Cohort:
    cohort = Cohort.objects.create(**{"name": name, "flag_id": flag, "variant": "gateway", "percentage": 100} | fields)
    rollout_cache.refresh()
    return cohort


def ask(http: HttpClient, headers: dict[str, str], key: str = SURFACE, **context: Any) -> tuple[int, dict[str, Any]]:
    body = {"context": {"targetingKey": "ana", **context}}
    answer = http.post(f"{PLACE}/{key}", body, content_type="application/json", **headers)
    return answer.status_code, answer.json()


def test_no_cohort_is_the_default(client: HttpClient, headers: dict[str, str]) -> None:
    said = {"key": SURFACE, "value": "legacy", "variant": "legacy", "reason": "DEFAULT", "metadata": {}}

    assert ask(client, headers) == (200, said)


@pytest.mark.parametrize(("percentage", "reason"), [(100, "TARGETING_MATCH"), (99.99, "SPLIT")])
def test_a_cohort_decides_and_says_why(
    client: HttpClient, headers: dict[str, str], percentage: float, reason: str
) -> None:
    make_cohort(percentage=percentage)
    status, said = ask(client, headers)

    assert (status, said["value"], said["reason"], said["metadata"]) == (200, "gateway", reason, {"cohort": "dev-team"})


def test_the_master_switch_disables_the_surface_alone(
    client: HttpClient, headers: dict[str, str], settings: Any
) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False
    make_cohort()

    assert ask(client, headers)[1]["reason"] == "DISABLED"
    assert ask(client, headers)[1]["value"] == "legacy"
    assert ask(client, headers, FlagKey.RELEASE)[1]["reason"] == "DEFAULT"


def test_rules_read_the_context_and_the_key(client: HttpClient, headers: dict[str, str]) -> None:
    cohort = make_cohort()
    for attribute, trait, values in (
        ("client", "", ["chat"]),
        ("environment", "", ["dev"]),
        ("model_family", "", ["claude"]),
        ("trait", "plan", ["pro"]),
    ):
        CohortRule.objects.create(cohort=cohort, attribute=attribute, trait=trait, values=values)
    rollout_cache.refresh()
    context = {"environment": "dev", "model": "claude-sonnet-4-5", "plan": "pro"}

    assert ask(client, headers, **context)[1]["value"] == "gateway"
    assert ask(client, headers, **context, client="other")[1]["value"] == "gateway"  # the key says who asks
    assert ask(client, headers, **{**context, "plan": "free"})[1]["value"] == "legacy"


def test_a_single_evaluation_is_an_exposure_and_a_bulk_one_is_none(client: HttpClient, headers: dict[str, str]) -> None:
    make_cohort()
    body = {"context": {"targetingKey": "ana"}}
    client.post(PLACE, body, content_type="application/json", **headers)
    exposures.flush()
    assert not Assignment.objects.exists()

    for _ in range(2):
        ask(client, headers)
    exposures.flush()

    assert [(each.flag, each.variant, each.cohort, each.subject) for each in Assignment.objects.all()] == [
        (SURFACE, "gateway", "dev-team", "ana")
    ]


def test_all_flags_at_once_have_an_etag(client: HttpClient, headers: dict[str, str]) -> None:
    body = {"context": {"targetingKey": "ana"}}
    first = client.post(PLACE, body, content_type="application/json", **headers)
    same = client.post(
        PLACE, body, content_type="application/json", HTTP_IF_NONE_MATCH=first.headers["ETag"], **headers
    )
    make_cohort()
    other = client.post(
        PLACE, body, content_type="application/json", HTTP_IF_NONE_MATCH=first.headers["ETag"], **headers
    )

    assert {flag["key"]: flag["value"] for flag in first.json()["flags"]} == {
        SURFACE: "legacy",
        FlagKey.RELEASE: "live",
        FlagKey.SELECTION: "static",
    }
    assert (same.status_code, same.content) == (304, b"")
    assert (other.status_code, other.json()["flags"][0]["value"]) == (200, "gateway")


def test_whose_release_was_withdrawn_follows_what_is_live(
    client: HttpClient, headers: dict[str, str], live_catalog: Any
) -> None:
    pinned = publishing.get_live_release().version
    Op.objects.filter(op="onto.task.get").update(summary="Read one task")
    publishing.publish_draft(note="Next", by="tests", at=timezone.now())
    make_cohort("copy-a", FlagKey.RELEASE, variant=pinned)
    assert ask(client, headers, FlagKey.RELEASE)[1]["value"] == pinned

    publishing.withdraw_release(version=pinned, reason="Wrong", by="tests", at=timezone.now())
    model.drop_withdrawn()

    assert ask(client, headers, FlagKey.RELEASE)[1] == {
        "key": "tool_release",
        "value": "live",
        "variant": "live",
        "reason": "DEFAULT",
        "metadata": {},
    }


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", "PARSE_ERROR"),
        ("[]", "PARSE_ERROR"),
        ("{}", "INVALID_CONTEXT"),
        ('{"context": "ana"}', "INVALID_CONTEXT"),
        ('{"context": {}}', "TARGETING_KEY_MISSING"),
        ('{"context": {"targetingKey": ""}}', "TARGETING_KEY_MISSING"),
        ('{"context": {"targetingKey": 7}}', "INVALID_CONTEXT"),
        ('{"context": {"targetingKey": "ana", "environment": []}}', "INVALID_CONTEXT"),
    ],
)
def test_bad_bodies_are_told_in_the_protocols_codes(
    client: HttpClient, headers: dict[str, str], body: str, code: str
) -> None:
    for place in (PLACE, f"{PLACE}/{SURFACE}"):
        answer = client.post(place, body, content_type="application/json", **headers)

        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
        assert answer.json()["errorDetails"]


def test_an_unknown_flag_is_not_found(client: HttpClient, headers: dict[str, str]) -> None:
    status, said = ask(client, headers, "nothing")

    assert (status, said["key"], said["errorCode"]) == (404, "nothing", "FLAG_NOT_FOUND")


def test_flags_need_their_scope(client: HttpClient, db: None) -> None:
    _, plaintext = api_keys.issue(client=Client.objects.create(name="other"), by="tests", scopes=[Scope.HELP])

    assert ask(client, {})[0] == 401
    assert ask(client, {"HTTP_AUTHORIZATION": f"Bearer {plaintext}"})[0] == 403


@pytest.mark.parametrize("place", [PLACE, f"{PLACE}/{SURFACE}"])
def test_doors_are_shut_without_a_key_by_any_method(client: HttpClient, db: None, place: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        answer = client.generic(method, place, b"{}", "application/json")

        assert (answer.status_code, answer.json()["errorCode"]) == (401, "GENERAL")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("place", [PLACE, f"{PLACE}/{SURFACE}"])
def test_doors_take_post_alone_and_nothing_too_large(client: HttpClient, headers: dict[str, str], place: str) -> None:
    other = client.get(place, **headers)
    large = client.post(place, b" " * 1_000_001, content_type="application/json", **headers)

    assert (other.status_code, other.headers["Allow"]) == (405, "POST")
    assert large.status_code == 413
