"""Who runs the entries of a batch: threads that messages wake, in turns, and workers that look for themselves."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.utils import timezone

from gateway.batches import broker, leases, runner, store, sweep
from gateway.models import Batch, BatchEntry
from tests.support.api import Api
from tests.support.batches import LIST, batch, in_the_background, slow, until_done

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]


def test_one_message_wakes_a_thread_for_many_entries(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 4
    monkeypatch.setattr(runner, "TURN_SECONDS", 60.0)

    id = in_the_background(api, *[LIST] * 20, mode="parallel")
    assert messages == [id] * 4
    few = in_the_background(api, *[LIST] * 3, mode="parallel")
    in_order = in_the_background(api, *[LIST] * 3)
    assert messages[4:] == [few] * 3 + [in_order]

    messages.clear()
    for each in (id, in_order):
        assert runner.run_turn(UUID(each))
    assert messages == []
    assert set(BatchEntry.objects.exclude(batch=few).values_list("state", "attempts")) == {("done", 1)}
    assert not runner.run_turn(UUID(id))


def test_no_more_threads_are_woken_than_a_batch_gets(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 4
    id = in_the_background(api, *[LIST] * 20, mode="parallel", idempotency_key="one")
    messages.clear()

    assert in_the_background(api, *[LIST] * 20, mode="parallel", idempotency_key="one") == id
    assert messages == []  # the first has told them

    for _ in range(3):
        leases.claim_entry(store.get_cached_batch(UUID(id)))
    Batch.objects.update(woken_at=timezone.now() - timedelta(seconds=5))
    sweep.sweep_batches()
    assert messages == [id]
    BatchEntry.objects.all().delete()  # the end of each test waits for what runs


def test_who_waits_for_a_batch_leaves_it_to_the_threads_that_are_at_work(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 2
    slow(monkeypatch, "list_onto_tasks", 0.4)  # longer than who waits is patient

    answer = batch(api, *[LIST] * 6, mode="parallel")

    assert answer["ok"], answer
    assert answer["meta"]["warnings"] == []


def test_an_entry_costs_few_queries(api: Api, messages: list[str], django_assert_num_queries: Any) -> None:
    id = UUID(in_the_background(api, *[LIST] * 10, mode="parallel"))
    runner.run_next_entry(store.get_cached_batch(id))

    with django_assert_num_queries(2 + 2):  # claimed and answered; the op itself
        runner.run_next_entry(store.get_cached_batch(id))


def test_a_thread_leaves_a_batch_for_the_end_of_the_queue(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", 0.0)
    id = in_the_background(api, LIST, LIST, mode="parallel")
    messages.clear()

    assert runner.run_turn(UUID(id))

    assert messages == [id]
    assert BatchEntry.objects.filter(state="done").count() == 1
    monkeypatch.setattr(broker, "is_down", lambda: True)  # a message would be lost: better to stay
    assert runner.run_turn(UUID(id))
    assert messages == [id]
    assert BatchEntry.objects.filter(state="done").count() == 2


@pytest.mark.parametrize(("turn", "woken"), [(60.0, 3), (0.0, 4)])  # the thread itself is one of four
def test_what_an_entry_lets_run_is_run_at_the_same_time(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch, turn: float, woken: int
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", turn)
    id = in_the_background(api, LIST, *[{**LIST, "depends_on": [0]}] * 4, mode="parallel")
    assert messages == [id]
    monkeypatch.setattr(leases, "claim_entry", once(leases.claim_entry))

    assert runner.run_turn(UUID(id))

    assert messages[1:] == [id] * woken


def once(claim: Callable[..., Any]) -> Callable[..., Any]:
    """Have the first claim succeed and no other one."""
    calls = iter([claim])
    return lambda *args: next(calls, lambda *_: None)(*args)


def test_a_batch_of_few_need_not_wait_for_a_batch_of_many(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch, "list_onto_tasks", 0.3)
    many = [in_the_background(api, *[LIST] * 50, mode="parallel") for _ in range(2)]

    few = in_the_background(api, {"type": "help", "path": "onto"}, LIST, mode="parallel")

    until_done(api, few, within=10)
    assert {api.get(f"batches/{id}").json()["status"] for id in many} == {"running"}
    for id in many:
        until_done(api, id, within=20)


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_worker_helps_out_where_no_message_comes(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(runner, "TURN_SECONDS", 0.0)
    id = in_the_background(api, LIST, {**LIST, "depends_on": [0]}, LIST, mode=mode)

    monkeypatch.setattr(sweep, "_helper", None)
    monkeypatch.setattr(broker, "_heard_at", 0.0)
    sweep.start_helper()
    assert sweep._helper is None  # it was too early
    Batch.objects.update(created_at=timezone.now() - timedelta(seconds=5))
    sweep.start_helper()

    until_done(api, id, within=5)
    assert sweep._helper
    sweep._helper.join(5)
    assert not sweep._helper.is_alive()


@pytest.mark.parametrize("why", ["all its threads run", "messages come"])
def test_a_worker_that_has_enough_to_do_helps_nobody(
    api: Api, messages: list[str], monkeypatch: pytest.MonkeyPatch, settings: Any, why: str
) -> None:
    id = in_the_background(api, LIST)
    Batch.objects.update(created_at=timezone.now() - timedelta(seconds=5))
    settings.CELERY_WORKER_CONCURRENCY = 1
    monkeypatch.setattr(broker, "_heard_at", 0.0)
    monkeypatch.setattr(runner, "running_entries", {"one": BatchEntry()} if why == "all its threads run" else {})
    if why == "messages come":
        broker.record_message()

    sweep.start_helper()

    assert api.get(f"batches/{id}").json()["status"] == "pending"


@pytest.mark.parametrize("wrong", [timedelta(hours=2), timedelta(hours=-2)])
def test_a_batch_lives_by_the_clock_of_the_database(api: Api, messages: list[str], wrong: timedelta) -> None:
    with time_machine.travel(timezone.now() + wrong):
        id = in_the_background(api, LIST, LIST)
        assert runner.run_next_entry(store.get_cached_batch(UUID(id)))
        sweep.sweep_batches()
        assert api.get(f"batches/{id}").json()["summary"]["pending"] == 1

    taken = Batch.objects.get()
    assert abs(taken.runs_until - timedelta(hours=1) - timezone.now()) < timedelta(minutes=1)
    assert runner.run_turn(UUID(id))
    assert api.get(f"batches/{id}").json()["ok"]
