"""What most tests of the workspace need."""

import pytest

from tests.support.rows.factories import ProjectFactory
from workspace.models import Project


@pytest.fixture
def project(db: None) -> Project:
    """A project of the subject "owner"."""
    project: Project = ProjectFactory(name="Launch")
    return project
