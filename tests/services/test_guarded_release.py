"""Step by step to 5,000 users of a running gateway: a bad release comes back by itself, a good one reaches everyone."""

import base64
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx2
import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import lifecycle
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment
from audit.models import AuditEntry
from gateway.models import PeriodicJob
from registry.models import Op, Release
from registry.releases import stored_releases
from registry.reviews import guarded_release
from tests.support.console.admin_pages import read_text
from tests.support.servers.environment import make_key
from tests.support.servers.processes import Server, eventually
from tests.support.upstreams.http_servers import Server as Receiver
from tests.support.upstreams.http_servers import build_response

pytestmark = pytest.mark.server

OP = "onto.task.list"
USERS = [f"user-{number}" for number in range(5_000)]
CALLS = 4  # of each user
BAD, GOOD = "List tasks; filter with mood", "List tasks; filter with state_key"


@dataclass
class ScriptedClient:
    """A chat that does what the help says, and remembers which users read the bad wording."""

    server: Server
    key: str
    misled: set[str] = field(default_factory=set)

    def read_summary(self, user: str, http: httpx2.Client) -> str:
        headers = self._build_headers(user)
        return str(http.get("/api/v1/help", params={"path": OP}, headers=headers).json()["summary"])

    def read_release(self, user: str, http: httpx2.Client) -> str:
        """Return the release that a user would get. This is no exposure, and nothing that a metric counts."""
        body = {"context": {"targetingKey": user}}
        flags = http.post("/ofrep/v1/evaluate/flags", json=body, headers=self._build_headers(user)).json()["flags"]
        return next(str(flag["value"]) for flag in flags if flag["key"] == FlagKey.RELEASE)

    def take_turn(self, user: str) -> None:
        """Read help and make some calls. Some users make one mistake whatever the help says."""
        with self.connect(user) as http:
            argument = "mood" if self.read_summary(user, http) == BAD else "state_key"
        self.misled |= {user} if argument == "mood" else set()
        with self.connect(user) as http:
            for number in range(CALLS):
                name = "colour" if not number and is_careless(user) else argument
                http.post("/api/v1/exec", json={"op": OP, "args": {name: "todo"}})

    def connect(self, user: str) -> httpx2.Client:
        """Return a client with a new connection, which another process may answer."""
        return self.server.client(headers=self._build_headers(user))

    def wait_for_summary(self, users: list[str], summary: str) -> None:
        """Wait until every process serves this summary to all these users."""
        self.server.wait_for_workers(
            lambda http: all(self.read_summary(user, http) == summary for user in users), what=f"the help {summary!r}"
        )

    def wait_for_release(self, user: str, release: Release) -> None:
        """Wait until every process serves the release to a user."""
        self.server.wait_for_workers(lambda http: self.read_release(user, http) == release.version, what="the release")

    def _build_headers(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Gateway-Subject": user}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver(lambda _: build_response(Connection="close"))
    yield receiver
    receiver.stop()


@pytest.fixture
def chat(serve: Callable[..., Server], receiver: Receiver) -> ScriptedClient:
    server = serve(
        GATEWAY_NOTIFY_URL=receiver.url("/hook"),
        GATEWAY_NOTIFY_SECRET=f"whsec_{base64.b64encode(b'k' * 32).decode()}",
        GATEWAY_OUTGOING_ALLOW="127.0.0.0/8",
    )
    return ScriptedClient(server, make_key(subject=""))


def release(name: str, summary: str, steps: list[list[float]]) -> tuple[Release, Experiment]:
    Op.objects.filter(op=OP).update(summary=summary)
    plan = GuardedPlan(name, steps)
    at = timezone.now()
    return guarded_release.release_draft_step_by_step(plan, note=summary, by="ana", at=at, accepted="Test")


def find_users(experiment: Experiment) -> list[list[str]]:
    """Return the users of each arm, the control's first."""
    rollout = assignment.load_rollout()
    cohorts = {user: rollout.evaluate(FlagKey.RELEASE, EvaluationContext(subject=user)).cohort for user in USERS}
    return [[user for user in USERS if cohorts[user] == arm.name] for arm in experiment.list_arms()]


def is_careless(user: str) -> bool:
    """Return whether a user makes a mistake whatever the help says: one user in ten."""
    return user.endswith("0")


def take_alike(control: list[str], new: list[str]) -> list[str]:
    """Return 30 users of each side, three of them careless, in turn.

    By chance one side could be clearly worse, or slower if it came while the machine is busy.
    """
    sides = []
    for users in (control, new):
        careful = [user for user in users if not is_careless(user)]
        sides.append([*filter(is_careless, users)][:3] + careful[:27])
    return [user for pair in zip(*sides, strict=True) for user in pair]


def take_turns(chat: ScriptedClient, users: list[str]) -> None:
    for user in users:
        chat.take_turn(user)


def wait_for_job(experiment: Experiment, is_done: Callable[[], bool], *, within: float = 90) -> None:
    """Wait for what the server's own job does, which is due now and not in a minute.

    While it runs, it is not made due: then the other process would run it, too.
    """

    def check() -> bool:
        PeriodicJob.objects.filter(name="rollups.run", holder="").update(held_until=Now())
        time.sleep(0.5)
        experiment.refresh_from_db()
        return is_done()

    eventually(check, within=within, what="the job's decision")


def test_bad_release_comes_back_by_itself_and_a_good_one_reaches_everyone(
    chat: ScriptedClient, receiver: Receiver
) -> None:
    with chat.connect("user-0") as http:
        before = chat.read_summary("user-0", http)
    bad, experiment = release("bad", BAD, [[1, 4], [5, 4], [25, 8], [50, 8]])
    control, new = find_users(experiment)
    assert 30 < len(new) < 75  # 1% of the users
    chat.wait_for_release(new[0], bad)

    take_turns(chat, [*control, *new, *USERS[:50]])
    wait_for_job(experiment, lambda: experiment.state == Experiment.State.STOPPED)

    # It was taken back in the first step, and every process serves the live release again.
    chat.wait_for_summary(new, before)
    assert experiment.step == 0
    assert len(chat.misled) == Assignment.objects.filter(variant=bad.version).values("subject").distinct().count()
    assert chat.misled == set(new)
    assert len(chat.misled) < 100
    check_told(experiment, bad, receiver)

    # A person confirms it, and writes it better.
    lifecycle.decide(experiment, "drop", "It names the wrong argument.", by="ana", at=timezone.now())
    good, experiment = release("good", GOOD, [[10, 0.001], [50, 0.001]])
    control, new = find_users(experiment)
    chat.wait_for_release(new[0], good)
    take_turns(chat, take_alike(control, new))
    wait_for_job(experiment, lambda: experiment.state == Experiment.State.DECIDED)

    assert (experiment.decision, experiment.step) == ("ship", 1)
    assert stored_releases.is_live(good.version)
    chat.wait_for_summary(USERS[::100], GOOD)
    entry = AuditEntry.objects.get(kind="release", name=good.version, action="published")
    assert (entry.by, entry.note) == ("guardrail", "All steps are done, without clear harm.")


def check_told(experiment: Experiment, bad: Release, receiver: Receiver) -> None:
    """Check that the page, the audit log and the webhook say why it was taken back."""
    facts = [bad.short_name, "Failure rate", OP, "% of calls"]
    entry = AuditEntry.objects.filter(kind="experiment", name=experiment.name).latest("id")
    eventually(lambda: receiver.requests, within=20, what="the webhook")
    admin = Client()
    admin.force_login(User.objects.create_superuser("ana"))
    page = read_text(admin.get(reverse("admin:registry_release_change", args=[bad.pk])))
    message = receiver.requests[0].decode()
    assert "experiment.stopped" in message
    for fact in facts:
        assert fact in entry.note
        assert fact in message
        assert fact in page
