"""Our flags as an OpenFeature client evaluates them that nobody here wrote."""

import httpx2
import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import Reason

from analytics.flags import FlagKey
from analytics.rollout.models import Assignment, Cohort, CohortRule, Subject
from tests.support.servers.environment import make_key
from tests.support.servers.processes import Server, eventually

pytestmark = pytest.mark.server


def test_exposures_are_written_when_the_server_stops_at_once(server: Server) -> None:
    Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
    evaluate = f"/ofrep/v1/evaluate/flags/{FlagKey.SURFACE}"
    with server.client(headers={"Authorization": f"Bearer {make_key(subject='')}"}) as http:

        def shown(subject: str) -> str:
            return str(http.post(evaluate, json={"context": {"targetingKey": subject}}).json()["value"])

        eventually(lambda: shown("ana") == "gateway", what="the cohort")
        eventually(lambda: Assignment.objects.filter(subject="ana").exists(), what="writing down")
        subjects = [f"demo-{number}" for number in range(20)]
        answered = {subject for subject in subjects if shown(subject) == "gateway"}
        for subject in subjects:
            assert http.get("/api/v1/help", headers={"Gateway-Subject": subject}).status_code == 200
        server.process.stop()

    assignments = Assignment.objects.filter(variant="gateway", cohort="all", subject__in=subjects)
    assert set(assignments.values_list("subject", flat=True)) == answered
    assert len(answered) >= 10  # of the two processes one may not have followed the cohort yet
    assert Subject.objects.filter(subject__in=subjects).count() == len(subjects)


def test_openfeature_client_gets_the_variant_of_a_cohort(shared_server: Server) -> None:
    headers = {"Authorization": f"Bearer {make_key(subject='')}"}
    api.set_provider(OFREPProvider(base_url=shared_server.url, headers_factory=lambda: headers))
    client = api.get_client()
    ana = EvaluationContext("ana", {"environment": "dev"})

    def is_shown(http: httpx2.Client) -> bool:
        context = {"targetingKey": "ana", "environment": "dev"}
        answer = http.post(f"/ofrep/v1/evaluate/flags/{FlagKey.SURFACE}", json={"context": context}, headers=headers)
        return bool(answer.json()["value"] == "gateway")

    try:
        before = client.get_string_details(FlagKey.SURFACE, "unreachable", ana)
        cohort = Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
        CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
        shared_server.wait_for_workers(is_shown, what="the cohort")
        after = client.get_string_details(FlagKey.SURFACE, "unreachable", ana)
        unknown = client.get_string_details("nothing", "fallback", ana)
    finally:
        api.shutdown()
        Cohort.objects.all().delete()  # the server is other tests' too

    assert (before.value, before.reason) == ("legacy", Reason.DEFAULT)
    assert (after.value, after.variant, after.reason) == ("gateway", "gateway", Reason.TARGETING_MATCH)
    assert after.flag_metadata == {"cohort": "dev-team"}
    assert (unknown.value, unknown.error_code) == ("fallback", "FLAG_NOT_FOUND")
    exposed = Assignment.objects.filter(subject="ana", variant="gateway", cohort="dev-team")
    eventually(lambda: exposed.count() == 1, what="writing the exposure down")
