"""Assignment by hash: the same for ever, monotonic, and independent between cohorts."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.rollout import bucketing

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
PARTS = st.integers(0, bucketing.BUCKETS)

VECTORS = [
    ("dev-team", "ana", 1374),
    ("dev-team", "ben", 7037),
    ("copy-b", "ana", 1450),
    ("copy-b", "użytkownik-7", 1726),
]


@pytest.mark.parametrize(("salt", "subject", "part"), VECTORS)
def test_part_is_as_the_guide_states(salt: str, subject: str, part: int) -> None:
    assert bucketing.bucket_of(salt, subject) == part


def test_part_is_the_same_in_another_process() -> None:
    code = (
        "from analytics.rollout import bucketing; print([bucketing.bucket_of('dev-team', str(n)) for n in range(100)])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == str([bucketing.bucket_of("dev-team", str(number)) for number in range(100)])


@given(TEXTS, TEXTS, PARTS, PARTS)
def test_who_is_in_stays_in_when_the_share_grows(salt: str, subject: str, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))

    assert bucketing.is_within(salt, subject, larger) or not bucketing.is_within(salt, subject, smaller)


@given(TEXTS, TEXTS)
def test_nobody_is_within_nothing_and_everybody_within_all(salt: str, subject: str) -> None:
    assert not bucketing.is_within(salt, subject, 0)
    assert bucketing.is_within(salt, subject, bucketing.BUCKETS)


@pytest.mark.parametrize("parts", [100, 500, 2_500, 5_000])
def test_a_share_is_as_large_as_it_says(parts: int) -> None:
    total = 50_000
    found = sum(bucketing.is_within("size", f"user-{number}", parts) for number in range(total))

    expected, deviation = (
        total * parts / bucketing.BUCKETS,
        (total * parts / bucketing.BUCKETS * (1 - parts / bucketing.BUCKETS)) ** 0.5,
    )
    assert abs(found - expected) < 5 * deviation


def test_two_cohorts_share_no_more_subjects_than_chance_gives() -> None:
    subjects = [f"user-{number}" for number in range(50_000)]
    both = sum(
        bucketing.is_within("one", each, 2_500) and bucketing.is_within("other", each, 2_500) for each in subjects
    )

    assert abs(both - 50_000 / 16) < 5 * (50_000 / 16) ** 0.5
