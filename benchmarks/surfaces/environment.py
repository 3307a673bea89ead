"""Where an evaluation runs: a temporary database with the shipped catalog and the demo, and a gateway on it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test.utils import override_settings

from analytics.flags import FlagKey
from analytics.rollout.evaluation import Attribute, Operator
from analytics.rollout.models import Cohort, CohortRule
from benchmarks import servers
from benchmarks.surfaces.plan import STAND_INS, SURFACES, EvaluationPlan
from benchmarks.surfaces.relative_dates import RelativeDates
from chat.gateway.client import Credentials
from gateway.access import api_keys
from gateway.models import Client
from workspace import demo
from workspace.models import Profile

KEY_RATE = 1_000  # requests a second
BY = "evaluate_surfaces"


def build_variables(plan: EvaluationPlan, folder: Path) -> dict[str, str]:
    """Return the environment of the evaluation's processes: the model is that of .env, the data is not."""
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "GATEWAY_ENV": "local",
        "DATABASE_URL": f"sqlite:///{folder / 'evaluation.sqlite3'}",
        "CELERY_BROKER_URL": "",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
        "SECRET_KEY": "of no use outside an evaluation, and made for nothing else",
        "GATEWAY_KEY_PEPPER": "of no use outside an evaluation either",
        "GATEWAY_WORKERS": "1",
        "AGENTIC_CHAT_TOOL_GATEWAY": "on",
        "WEB_SEARCH_URL": "",
        "LOG_LEVEL": "WARNING",
        "MALLOC_ARENA_MAX": "2",
        **({"LLM_BASE_URL": ""} if plan.model in STAND_INS else {"CHAT_MODEL_TIER": plan.model}),
    }


def get_subject_prefix(surface: str) -> str:
    """Return how the subjects of a surface begin; their cohort goes by it."""
    return f"evaluation-{surface}."


def prepare_database(surfaces: Sequence[str], *, at: datetime) -> str:
    """Fill the database of this process: catalog, demo and a cohort for each surface. Return a key for the chat."""
    call_command("migrate", verbosity=0)
    with Path(os.devnull).open("w") as output:
        call_command("load_catalog", "--publish", stdout=output)
    demo.load(at=at)
    for position, surface in enumerate(surfaces):
        variant, selection = SURFACES[surface]
        _create_cohort(f"surface-{surface}", FlagKey.SURFACE, variant, surface, position)
        _create_cohort(f"selection-{surface}", FlagKey.SELECTION, selection, surface, position)
    client = Client.objects.create(name="evaluation", confirms=True)
    return api_keys.issue(client=client, by=BY, name=BY, rate=KEY_RATE)[1]


def get_dates() -> RelativeDates:
    """Return today in the demo user's zone."""
    zone = Profile.objects.get(subject=demo.DEMO_SUBJECT).zone
    return RelativeDates(datetime.now(zone).date(), zone)


@contextmanager
def serve_gateway(key: str) -> Iterator[None]:
    """Serve the gateway on a free port of loopback, and let this process's chat use it."""
    environment = {"DATABASE_URL": os.environ["DATABASE_URL"]}
    with servers.run_server(servers.GATEWAY, environment, probe="/readyz") as server:
        host, port = server.address
        # The port is known only now, so it cannot be in the environment that the settings are read from.
        with override_settings(CHAT_GATEWAY_URL=f"http://{host}:{port}", CHAT_GATEWAY_KEY=key):
            yield


def get_credentials(subject: str) -> Credentials:
    """Return what the chat calls the gateway with for a subject."""
    return Credentials(settings.CHAT_GATEWAY_KEY, subject)


def _create_cohort(name: str, flag: FlagKey, variant: str, surface: str, position: int) -> None:
    cohort = Cohort.objects.create(name=name, flag_id=flag, variant=variant, percentage=100, position=position)
    CohortRule.objects.create(
        cohort=cohort, attribute=Attribute.SUBJECT, operator=Operator.STARTS, values=[get_subject_prefix(surface)]
    )
