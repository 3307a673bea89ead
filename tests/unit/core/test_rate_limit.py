"""Buckets on a clock that the test turns."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import rate_limit
from core.rate_limit import RateLimitBuckets


class Clock:
    """The monotonic clock, standing still until it is moved."""

    def __init__(self, now: float = 1000.3) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rate_limit, "time", clock)
    return clock


@given(st.integers(1, 500), st.floats(0, 1e7))
def test_take_allows_exactly_one_second_worth_at_once(rate: int, now: float) -> None:
    buckets = RateLimitBuckets()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rate_limit, "time", Clock(now))
        taken = [buckets.take("key", rate) for _ in range(rate + 1)]

    assert [one.allowed for one in taken] == [True] * rate + [False]
    assert [one.remaining for one in taken] == [*range(rate - 1, -1, -1), 0]
    assert taken[-1].retry_after == pytest.approx(1 / rate, abs=1e-5)


def test_take_allows_again_after_what_it_said(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    for _ in range(10):
        buckets.take("key", 10)
    refused = buckets.take("key", 10)

    clock.now += refused.retry_after * 0.9
    assert not buckets.take("key", 10).allowed
    clock.now += refused.retry_after * 0.11
    assert buckets.take("key", 10).allowed
    assert not buckets.take("key", 10).allowed


def test_take_refills_to_one_second_worth_and_no_more(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    for _ in range(5):
        buckets.take("key", 5)

    clock.now += 3600

    assert [buckets.take("key", 5).allowed for _ in range(6)] == [True] * 5 + [False]


def test_a_refused_request_costs_nothing(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    buckets.take("key", 1)
    waits = [buckets.take("key", 1).retry_after for _ in range(100)]

    assert waits == [waits[0]] * 100
    clock.now += waits[0]
    assert buckets.take("key", 1).allowed


def test_keys_have_buckets_of_their_own(clock: Clock) -> None:
    buckets = RateLimitBuckets()

    assert buckets.take("one", 1).allowed
    assert buckets.take("other", 1).allowed
    assert not buckets.take("one", 1).allowed


def test_buckets_that_are_full_again_are_dropped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_BUCKETS", 10)
    buckets = RateLimitBuckets()
    for key in range(10):
        buckets.take(key, 1)
    clock.now += 0.5
    buckets.take("late", 1)  # nobody is full yet: none is dropped
    assert not buckets.take(3, 1).allowed

    clock.now += 0.6
    buckets.take("new", 1)

    assert set(buckets._full_at) == {"late", "new"}
    assert not buckets.take("late", 1).allowed


def test_over_a_minute_a_key_gets_its_rate(clock: Clock) -> None:
    buckets = RateLimitBuckets()
    allowed = 0
    for _ in itertools.repeat(None, 60_000):  # every millisecond, whatever was answered
        clock.now += 0.001
        allowed += buckets.take("key", 7).allowed

    assert 60 * 7 <= allowed <= 61 * 7
