from typing import Any

import pytest
from django.core.exceptions import ValidationError

from tests.support.loops import for_each
from tests.support.rows.factories import ProfileFactory
from workspace.models import Profile


@for_each("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kathmandu"], undone=True)
def test_profile_accepts_an_iana_time_zone(db: None, name: str) -> None:
    profile = Profile(subject="s", time_zone=name)

    profile.full_clean()

    assert profile.zone.key == name


@for_each("name", ["", "Europe", "europe/berlin", "Berlin", "+02:00", "../Europe/Berlin", "Mars/Base"], undone=True)
def test_profile_refuses_an_unknown_time_zone(db: None, name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Profile(subject="s", time_zone=name).full_clean()

    assert list(refused.value.message_dict) == ["time_zone"]


@for_each(
    "field, value",
    [
        ("working_hours", None),
        ("working_hours", {"monday": ["17:00-09:00"]}),
        ("preferences", None),
        ("preferences", []),
    ],
    undone=True,
)
def test_profile_refuses_invalid_working_hours_and_preferences(db: None, field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        Profile(**{"subject": "s", field: value}).full_clean()

    assert list(refused.value.message_dict) == [field]


def test_second_profile_of_a_subject_is_refused_with_a_message(db: None) -> None:
    ProfileFactory(subject="s")

    with pytest.raises(ValidationError, match="This subject already has a profile"):
        Profile(subject="s").full_clean()


@for_each("name, shown", [("Mira", "Mira (s)"), ("", "s")])
def test_profile_is_displayed_by_name(name: str, shown: str) -> None:
    assert str(Profile(subject="s", name=name)) == shown
