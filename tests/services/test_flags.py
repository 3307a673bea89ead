"""Our flags as an OpenFeature client evaluates them that nobody here wrote."""

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import Reason

from analytics.models import Assignment, Cohort, CohortRule
from analytics.rollout.flags import FlagKey
from tests.services.conftest import make_key
from tests.services.processes import Server, eventually

pytestmark = pytest.mark.server


def test_an_openfeature_client_follows_a_cohort(server: Server) -> None:
    headers = {"Authorization": f"Bearer {make_key()}"}
    api.set_provider(OFREPProvider(base_url=server.url, headers_factory=lambda: headers))
    client = api.get_client()
    ana = EvaluationContext("ana", {"environment": "dev"})
    try:
        before = client.get_string_details(FlagKey.SURFACE, "unreachable", ana)
        cohort = Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
        CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
        eventually(
            lambda: all(client.get_string_value(FlagKey.SURFACE, "", ana) == "gateway" for _ in range(10)), within=2
        )
        after = client.get_string_details(FlagKey.SURFACE, "unreachable", ana)
        unknown = client.get_string_details("nothing", "fallback", ana)
    finally:
        api.shutdown()

    assert (before.value, before.reason) == ("legacy", Reason.DEFAULT)
    assert (after.value, after.variant, after.reason) == ("gateway", "gateway", Reason.TARGETING_MATCH)
    assert after.flag_metadata == {"cohort": "dev-team"}
    assert (unknown.value, unknown.error_code) == ("fallback", "FLAG_NOT_FOUND")
    assert Assignment.objects.filter(subject="ana", variant="gateway", cohort="dev-team").count() == 1
