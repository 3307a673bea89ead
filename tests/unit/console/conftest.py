"""A small live catalog."""

import pytest

from registry.models import PromptSection, Release
from registry.releases import publishing
from tests.support.console.admin_pages import AT
from tests.support.rows.copy_rows import make_op


@pytest.fixture
def published(db: None) -> Release:
    make_op()
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    return publishing.publish_draft(note="Test", by="tests", at=AT)
