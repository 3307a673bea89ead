"""The rows of the workspace."""

from workspace.models.document import Document, DocumentState
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.membership import CHANGING_ROLES, Membership, Role
from workspace.models.project import Project, ProjectState
from workspace.models.task import Task, TaskState

__all__ = [
    "CHANGING_ROLES",
    "Document",
    "DocumentState",
    "Entity",
    "EntityQuerySet",
    "Membership",
    "Project",
    "ProjectState",
    "Role",
    "Task",
    "TaskState",
]
