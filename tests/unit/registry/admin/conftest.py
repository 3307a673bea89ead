"""A small catalog that is live."""

import pytest

from registry import releases
from registry.models import PromptSection, Release
from tests.unit.registry.admin.pages import AT
from tests.unit.registry.rows import make_op


@pytest.fixture
def published(db: None) -> Release:
    make_op()
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    return releases.publish_draft(note="Test", by="tests", at=AT)
