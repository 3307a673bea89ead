from datetime import UTC, datetime

import pytest

from core import demo_data
from core.demo_data import DemoData

AT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_demo_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_data, "_installed", ())


def test_without_demo_rows_there_is_still_a_subject_for_local_keys() -> None:
    assert demo_data.list_demo_subjects() == [demo_data.get_demo_subject()] == ["demo-user"]
    assert demo_data.load_demo_data(AT) == []


def test_all_apps_load_their_rows_and_the_first_subject_is_that_of_local_keys() -> None:
    demo_data.set_demo_data(
        [
            DemoData(("ada", "ben"), lambda at: f"Projects of {at:%Y}."),
            DemoData(("ben", "cara"), lambda at: f"Orders of {at:%Y}."),
        ]
    )

    assert demo_data.load_demo_data(AT) == ["Projects of 2030.", "Orders of 2030."]
    assert demo_data.list_demo_subjects() == ["ada", "ben", "cara"]
    assert demo_data.get_demo_subject() == "ada"
