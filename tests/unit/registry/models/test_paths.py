import pytest

from registry.models import get_parent_path


@pytest.mark.parametrize(
    ("path", "parent"), [("onto.task.add", "onto.task"), ("onto", "root"), ("root", "root"), ("", "root")]
)
def test_parent_path_is_the_group_above(path: str, parent: str) -> None:
    assert get_parent_path(path) == parent
