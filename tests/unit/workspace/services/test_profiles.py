from typing import Any

from tests.support.rows.factories import ProfileFactory
from workspace.models import Profile, working_week
from workspace.services import access


def test_get_profile_returns_the_subjects_own(db: None, django_assert_num_queries: Any) -> None:
    ProfileFactory(subject="other", time_zone="Asia/Tokyo")
    own = ProfileFactory(subject="s")

    with django_assert_num_queries(1):
        assert access.get_profile("s") == own
    assert access.get_zone("s").key == "Europe/Berlin"


def test_get_profile_returns_unsaved_defaults_when_there_is_none(db: None) -> None:
    ProfileFactory(subject="other")

    profile = access.get_profile("s")

    assert (profile.time_zone, profile.working_hours, profile.preferences) == ("UTC", working_week.usual(), {})
    assert Profile.objects.count() == 1
