"""Running the entries of a batch: messages wake threads, which take turns, and idle workers look for batches."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.utils import timezone

from core.background import leases
from gateway.batches import broker, entry_claims, runner, service, store, sweep
from gateway.models import Batch, BatchEntry
from tests.support.clients.api import Api
from tests.support.clients.batches import LIST, send_background_batch, send_batch, slow_down_op, wait_until_done

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("wait_for_running_entries"),
]


def test_each_woken_thread_runs_many_entries(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "get_thread_count", lambda: 4)
    monkeypatch.setattr(runner, "TURN_SECONDS", 60.0)

    id = send_background_batch(api, *[LIST] * 20, mode="parallel")
    assert queued_batches == [id] * 4
    small = send_background_batch(api, *[LIST] * 3, mode="parallel")
    sequential = send_background_batch(api, *[LIST] * 3)
    assert queued_batches[4:] == [small] * 3 + [sequential]

    queued_batches.clear()
    for each in (id, sequential):
        assert runner.run_turn(UUID(each))
    assert queued_batches == []
    assert set(BatchEntry.objects.exclude(batch=small).values_list("state", "attempts")) == {("done", 1)}
    assert not runner.run_turn(UUID(id))


def test_batch_wakes_no_more_threads_than_it_may_use(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "get_thread_count", lambda: 4)
    id = send_background_batch(api, *[LIST] * 20, mode="parallel", idempotency_key="one")
    queued_batches.clear()

    assert send_background_batch(api, *[LIST] * 20, mode="parallel", idempotency_key="one") == id
    assert queued_batches == []  # the first call sent the messages

    for _ in range(3):
        entry_claims.claim_entry(store.get_cached_batch(UUID(id)))
    Batch.objects.update(woken_at=timezone.now() - timedelta(seconds=5))
    sweep.sweep_batches()
    assert queued_batches == [id]
    BatchEntry.objects.all().delete()  # wait_for_running_entries would wait for them


def test_waiting_thread_leaves_the_entries_to_running_threads(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "get_thread_count", lambda: 2)
    monkeypatch.setattr(service, "WORKER_HEAD_START", 3.0)  # a busy machine may start no thread for a while
    monkeypatch.setattr(service, "STANDSTILL_SECONDS", 20.0)
    slow_down_op(monkeypatch, "list_onto_tasks", 3.2)  # longer than the waiting thread's patience

    batch = send_batch(api, *[LIST] * 4, mode="parallel")

    assert batch["ok"], batch
    assert batch["meta"]["warnings"] == []


def test_entry_needs_few_queries(api: Api, queued_batches: list[str], django_assert_num_queries: Any) -> None:
    id = UUID(send_background_batch(api, *[LIST] * 10, mode="parallel"))
    runner.run_next_entry(store.get_cached_batch(id))

    with django_assert_num_queries(2 + 2):  # claim and result, plus two of the op
        runner.run_next_entry(store.get_cached_batch(id))


def test_thread_requeues_a_batch_after_its_turn(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", 0.0)
    id = send_background_batch(api, LIST, LIST, mode="parallel")
    queued_batches.clear()

    assert runner.run_turn(UUID(id))

    assert queued_batches == [id]
    assert BatchEntry.objects.filter(state="done").count() == 1
    monkeypatch.setattr(broker, "is_down", lambda: True)  # a message would be lost, so the thread keeps the batch
    assert runner.run_turn(UUID(id))
    assert queued_batches == [id]
    assert BatchEntry.objects.filter(state="done").count() == 2


@pytest.mark.parametrize(("turn_seconds", "message_count"), [(60.0, 3), (0.0, 4)])  # the thread itself is the fourth
def test_entries_that_become_ready_run_in_parallel(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch, turn_seconds: float, message_count: int
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", turn_seconds)
    id = send_background_batch(api, LIST, *[{**LIST, "depends_on": [0]}] * 4, mode="parallel")
    assert queued_batches == [id]
    monkeypatch.setattr(entry_claims, "claim_entry", claim_once(entry_claims.claim_entry))

    assert runner.run_turn(UUID(id))

    assert queued_batches[1:] == [id] * message_count


def claim_once(claim: Callable[..., Any]) -> Callable[..., Any]:
    """Return a claim function that succeeds only the first time."""
    calls = iter([claim])
    return lambda *args: next(calls, lambda *_: None)(*args)


def test_small_batch_does_not_wait_for_large_ones(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down_op(monkeypatch, "list_onto_tasks", 0.3)
    large_batches = [send_background_batch(api, *[LIST] * 50, mode="parallel") for _ in range(2)]

    small = send_background_batch(api, {"type": "help", "path": "onto"}, LIST, mode="parallel")

    wait_until_done(api, small)
    assert {api.get(f"batches/{id}").json()["status"] for id in large_batches} == {"running"}
    for id in large_batches:
        wait_until_done(api, id, within=20)


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_idle_worker_runs_a_batch_without_messages(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", 0.0)
    id = send_background_batch(api, LIST, {**LIST, "depends_on": [0]}, LIST, mode=mode)

    monkeypatch.setattr(sweep, "_helper", None)
    monkeypatch.setattr(broker, "_heard_at", 0.0)
    sweep.start_helper()
    assert sweep._helper is None  # the batch is too new
    Batch.objects.update(created_at=timezone.now() - timedelta(seconds=5))
    sweep.start_helper()

    wait_until_done(api, id)
    assert sweep._helper
    sweep._helper.join(60)
    assert not sweep._helper.is_alive()


@pytest.mark.parametrize("reason", ["all threads busy", "messages arrive"])
def test_busy_worker_does_not_look_for_batches(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    id = send_background_batch(api, LIST)
    Batch.objects.update(created_at=timezone.now() - timedelta(seconds=5))
    monkeypatch.setattr(broker, "get_thread_count", lambda: 1)
    monkeypatch.setattr(broker, "_heard_at", 0.0)
    monkeypatch.setattr(leases, "count_kept", lambda _: 1 if reason == "all threads busy" else 0)
    if reason == "messages arrive":
        broker.record_message()

    sweep.start_helper()

    assert api.get(f"batches/{id}").json()["status"] == "pending"


@pytest.mark.parametrize("clock_error", [timedelta(hours=2), timedelta(hours=-2)])
def test_batch_uses_the_clock_of_the_database(api: Api, queued_batches: list[str], clock_error: timedelta) -> None:
    with time_machine.travel(timezone.now() + clock_error):
        id = send_background_batch(api, LIST, LIST)
        assert runner.run_next_entry(store.get_cached_batch(UUID(id)))
        sweep.sweep_batches()
        assert api.get(f"batches/{id}").json()["summary"]["pending"] == 1

    stored = Batch.objects.get()
    assert abs(stored.runs_until - timedelta(hours=1) - timezone.now()) < timedelta(minutes=1)
    assert runner.run_turn(UUID(id))
    assert api.get(f"batches/{id}").json()["ok"]
