"""Bucketing by hash is stable, monotonic, and independent between cohorts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.rollout import evaluation

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
PARTS = st.integers(0, evaluation.BUCKETS)


@pytest.mark.parametrize(
    ("salt", "subject", "part"),
    [
        ("dev-team", "ana", 1374),
        ("copy-b", "ana", 1450),
        ("copy-b", "użytkownik-7", 1726),
    ],
)
def test_bucket_matches_the_documented_examples(salt: str, subject: str, part: int) -> None:
    assert evaluation.bucket_of(salt, subject) == part


@given(TEXTS, TEXTS, PARTS, PARTS)
def test_subject_stays_in_when_the_percentage_grows(
    salt: str, subject: str, first_share: int, second_share: int
) -> None:
    smaller, larger = sorted((first_share, second_share))

    assert evaluation.is_within(salt, subject, larger) or not evaluation.is_within(salt, subject, smaller)


@given(TEXTS, TEXTS)
def test_nobody_is_in_0_percent_and_everybody_in_100_percent(salt: str, subject: str) -> None:
    assert not evaluation.is_within(salt, subject, 0)
    assert evaluation.is_within(salt, subject, evaluation.BUCKETS)


@pytest.mark.parametrize("parts", [100, 500, 2_500, 5_000])
def test_percentage_takes_its_share_of_subjects(parts: int) -> None:
    total = 50_000
    inside = sum(evaluation.is_within("size", f"user-{number}", parts) for number in range(total))

    share = parts / evaluation.BUCKETS
    assert abs(inside - total * share) < 5 * (total * share * (1 - share)) ** 0.5


def test_two_cohorts_overlap_only_by_chance() -> None:
    subjects = [f"user-{number}" for number in range(50_000)]
    both = sum(
        evaluation.is_within("one", each, 2_500) and evaluation.is_within("other", each, 2_500) for each in subjects
    )

    assert abs(both - 50_000 / 16) < 5 * (50_000 / 16) ** 0.5
