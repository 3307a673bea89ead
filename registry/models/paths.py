"""Paths of groups and ops, such as onto.task.update."""

ROOT = "root"


def get_parent_path(path: str) -> str:
    """Return the path of the group that contains a path; `root` for a top-level path."""
    return path.rpartition(".")[0] or ROOT
