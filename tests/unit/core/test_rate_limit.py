"""Rate limit buckets on a clock that the test controls."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import overload
from core.overload import RateLimitBuckets


class Clock:
    def __init__(self, now: float = 1000.3) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(overload, "time", clock)
    return clock


@given(st.integers(1, 500), st.floats(0, 1e7))
def test_take_allows_exactly_one_second_of_requests_at_once(rate: int, now: float) -> None:
    buckets = RateLimitBuckets()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overload, "time", Clock(now))
        decisions = [buckets.take("key", rate) for _ in range(rate + 1)]

    assert [each.allowed for each in decisions] == [True] * rate + [False]
    assert [each.remaining for each in decisions] == [*range(rate - 1, -1, -1), 0]
    assert decisions[-1].retry_after == pytest.approx(1 / rate, abs=1e-5)


def test_take_allows_a_request_after_retry_after(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    for _ in range(10):
        buckets.take("key", 10)
    decision = buckets.take("key", 10)

    clock.now += decision.retry_after * 0.9
    assert not buckets.take("key", 10).allowed
    clock.now += decision.retry_after * 0.11
    assert buckets.take("key", 10).allowed
    assert not buckets.take("key", 10).allowed


def test_take_refills_to_one_second_of_requests_at_most(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    for _ in range(5):
        buckets.take("key", 5)

    clock.now += 3600

    assert [buckets.take("key", 5).allowed for _ in range(6)] == [True] * 5 + [False]


def test_refused_request_does_not_count(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    buckets.take("key", 1)
    waits = [buckets.take("key", 1).retry_after for _ in range(100)]

    assert waits == [waits[0]] * 100
    clock.now += waits[0]
    assert buckets.take("key", 1).allowed


def test_each_key_has_its_own_bucket(clock: Clock) -> None:
    buckets = RateLimitBuckets()

    assert buckets.take("one", 1).allowed
    assert buckets.take("other", 1).allowed
    assert not buckets.take("one", 1).allowed


def test_full_buckets_are_dropped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "MAX_BUCKETS", 10)
    buckets = RateLimitBuckets()
    for key in range(10):
        buckets.take(key, 1)
    clock.now += 0.5
    buckets.take("late", 1)  # no bucket is full yet, so none is dropped
    assert not buckets.take(3, 1).allowed

    clock.now += 0.6
    buckets.take("new", 1)

    assert set(buckets._full_at) == {"late", "new"}
    assert not buckets.take("late", 1).allowed


def test_key_gets_its_rate_over_a_minute(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    allowed = 0
    for _ in itertools.repeat(None, 60_000):  # every millisecond, also after a refusal
        clock.now += 0.001
        allowed += buckets.take("key", 7).allowed

    assert 60 * 7 <= allowed <= 61 * 7
