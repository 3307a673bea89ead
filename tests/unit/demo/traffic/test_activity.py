"""Invented activity as a command writes it."""

from datetime import UTC, datetime

import pytest

from analytics.events.models import OperationEvent
from analytics.events.stored_contents import StoredContents
from demo.traffic import activity

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


def test_newest_searches_have_their_words_in_a_process_that_has_not_polled() -> None:
    StoredContents.objects.update_or_create(pk=StoredContents.PK, defaults={"days": 2})

    activity.write(at=NOW, days=4, turns_a_day=20)

    searches = OperationEvent.objects.filter(type=OperationEvent.Type.SEARCH)
    assert searches.filter(content__args__query__isnull=False).exists()
    words = [each.content["args"]["query"] for each in searches.exclude(content__isnull=True) if each.content]
    assert len(set(words)) > 3
    assert searches.filter(content__isnull=True).exists()  # the older ones
