"""Nothing acknowledged is lost, nothing happens twice and nothing stays behind, wherever processes die."""

import os
import random
import time
from collections import Counter
from pathlib import Path
from signal import SIGKILL

import pytest
from django.db import connection

from analytics.events.models import OperationEvent
from gateway.models import BatchEntry, IdempotencyRecord
from tests.support.servers import applying_upstream, brokers, crashes
from tests.support.servers.brokers import Broker
from tests.support.servers.crashes import FaultPoint, Fleet, Ledger
from tests.support.servers.environment import build_environment, make_key
from tests.support.servers.fault_points import WEB
from tests.support.servers.processes import eventually
from tests.support.servers.stores import Store
from tests.support.upstreams.http_upstream import WRITE, build_write, publish_ops
from workspace.models import Task

pytestmark = pytest.mark.server

HASTE = not os.environ.get("CRASH_POINTS")  # `make chaos` waits as long as production does
POINTS = int(os.environ.get("CRASH_POINTS") or 12)
WRITES = int(os.environ.get("CRASH_WRITES") or 100)
REMOTE_TIMEOUT_MS = 2_000
SETTLES_WITHIN = 20.0 if HASTE else 60.0  # seconds: what runners are held for, and some sweeps


@pytest.fixture
def fleet(store: Store, tmp_path: Path, request: pytest.FixtureRequest) -> Fleet:
    """Web processes with workers in threads on SQLite; on PostgreSQL web and worker processes over a broker."""
    folder = tmp_path / "points"
    folder.mkdir()
    environment = build_environment(store, tmp_path, CRASH_HASTE="1" if HASTE else "")
    url = "" if connection.vendor == "sqlite" else request.getfixturevalue("one_broker").url
    return Fleet(environment, folder, url)


@pytest.fixture
def one_broker(running_brokers: dict[str, Broker], tmp_path_factory: pytest.TempPathFactory) -> Broker:
    """Redis or RabbitMQ, as CRASH_BROKER says."""
    name = os.environ.get("CRASH_BROKER") or "redis"
    return brokers.start_broker_once(name, running_brokers, tmp_path_factory)


@pytest.mark.both_databases
@pytest.mark.thorough("sqlite")
def test_writes_are_neither_lost_nor_repeated_when_processes_die(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = crashes.read_seed()
    rng = random.Random(seed)
    points = crashes.plan_faults(POINTS, rng, roles=fleet.roles)
    started = time.monotonic()
    with fleet.running():
        ledger = crashes.run_writes(fleet, points, writes=WRITES, key=make_key(), rng=rng)
        eventually(is_settled, within=SETTLES_WITHIN, what="the end of every claim")
        check_ledger(ledger)
    with capsys.disabled():
        print(
            f"\n{len(ledger.acknowledged)} writes, {len(points)} deaths ({', '.join(map(str, points[:12]))} …), "
            f"{ledger.replays} replays, {time.monotonic() - started:.0f} s; CRASH_SEED={seed}"
        )


# Where the process that sends a remote write dies, whether the upstream applied the write, and the final answer.
REMOTE_DEATHS = [
    ("key-claim-before", True, "a result"),  # nothing was stored or sent, so the same call runs
    ("send-before", False, "outcome_unknown"),  # nobody can tell this from the next two
    ("upstream-read-before", True, "outcome_unknown"),  # the request was sent
    ("send-after", True, "outcome_unknown"),  # the answer had arrived and was not stored
    ("exec-after", True, "a replay"),  # stored, and the client did not get it
]


@pytest.mark.parametrize(
    "idempotency_header", ["", pytest.param(applying_upstream.KEY_HEADER, marks=pytest.mark.thorough)]
)
def test_remote_write_is_applied_at_most_once_when_its_process_dies(fleet: Fleet, idempotency_header: str) -> None:
    with applying_upstream.run_upstream() as upstream:
        write = build_write(timeout_ms=REMOTE_TIMEOUT_MS)
        publish_ops(write, base_url=upstream.url, idempotency_header=idempotency_header)
        with fleet.running():
            answers = {
                place: crashes.send_until_final(fleet, FaultPoint(WEB, place, SIGKILL), op=WRITE, key=make_key())
                for place, _, _ in REMOTE_DEATHS
            }
            assert answers == {place: answer for place, _, answer in REMOTE_DEATHS}
        assert upstream.count_applied() == {place: 1 for place, is_applied, _ in REMOTE_DEATHS if is_applied}
    unknown = [place for place, _, answer in REMOTE_DEATHS if answer == "outcome_unknown"]
    assert set(IdempotencyRecord.objects.exclude(state="done").values_list("key", flat=True)) == set(unknown)


def is_settled() -> bool:
    open_claims = IdempotencyRecord.objects.exclude(state="done").exists()
    return not open_claims and not BatchEntry.objects.exclude(state="done").exists()


def check_ledger(ledger: Ledger) -> None:
    """Compare what clients were answered with the rows of tasks, idempotency records and events."""
    assert ledger.unexpected == []
    ids = dict(Task.objects.filter(title__in=ledger.acknowledged).values_list("title", "pk"))
    assert {title: str(pk) for title, pk in ids.items()} == ledger.acknowledged
    assert Task.objects.filter(title__in=ledger.acknowledged).count() == len(ledger.acknowledged)
    assert IdempotencyRecord.objects.filter(op="probe.keep", state="done").count() == len(ledger.acknowledged)
    events = OperationEvent.objects.filter(op="probe.keep", ok=True, replayed=False)
    assert Counter(events.values_list("entity_id", flat=True)) == Counter(ledger.acknowledged.values())
