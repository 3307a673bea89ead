"""The models of the workspace."""

from workspace.models.base import EDITING_ROLES, Entity, EntityQuerySet, MemberRole, Membership
from workspace.models.calendar_event import (
    CalendarColor,
    CalendarEvent,
    CalendarEventQuerySet,
    ProjectCalendar,
    TaskEventKind,
)
from workspace.models.document import Document, DocumentState
from workspace.models.edge import Edge, EdgeKind
from workspace.models.planning import Goal, GoalState, Milestone, MilestoneState, Plan, PlanState, is_missed
from workspace.models.profile import Profile
from workspace.models.project import Project, ProjectState
from workspace.models.risk import Requirement, Risk, RiskImpact, RiskState
from workspace.models.task import Recurrence, Task, TaskState, filter_overdue, is_overdue
from workspace.models.write_record import WriteRecord

__all__ = [
    "EDITING_ROLES",
    "CalendarColor",
    "CalendarEvent",
    "CalendarEventQuerySet",
    "Document",
    "DocumentState",
    "Edge",
    "EdgeKind",
    "Entity",
    "EntityQuerySet",
    "Goal",
    "GoalState",
    "MemberRole",
    "Membership",
    "Milestone",
    "MilestoneState",
    "Plan",
    "PlanState",
    "Profile",
    "Project",
    "ProjectCalendar",
    "ProjectState",
    "Recurrence",
    "Requirement",
    "Risk",
    "RiskImpact",
    "RiskState",
    "Task",
    "TaskEventKind",
    "TaskState",
    "WriteRecord",
    "filter_overdue",
    "is_missed",
    "is_overdue",
]
