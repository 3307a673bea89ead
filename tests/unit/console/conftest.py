"""A small live catalog, and another release of it."""

import pytest
from django.utils import timezone

from registry.models import Op, PromptSection, Release
from registry.releases import publishing
from tests.support.rows.copy_rows import AT, change_row, make_op


@pytest.fixture
def published(db: None) -> Release:
    make_op()
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    return publishing.publish_draft(note="Test", by="tests", at=AT)


@pytest.fixture
def newer(published: Release) -> Release:
    """The release that went live after the published one."""
    Op.objects.update(summary="Other")
    return publishing.publish_draft(note="Better words", by="ann", at=timezone.now())


@pytest.fixture
def changed(published: Release) -> Release:
    """The live release, which the draft differs from."""
    change_row(Op.objects.get(), by="ed", summary="Changed")
    return published
