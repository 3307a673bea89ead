"""The models of the workspace."""

from workspace.models.calendar_event import CalendarEvent, CalendarEventQuerySet, TaskEventKind
from workspace.models.document import Document, DocumentState
from workspace.models.edge import Edge, EdgeKind
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.goal import Goal, GoalState
from workspace.models.membership import EDITING_ROLES, MemberRole, Membership
from workspace.models.milestone import Milestone, MilestoneState, is_missed
from workspace.models.plan import Plan, PlanState
from workspace.models.profile import Profile
from workspace.models.project import Project, ProjectState
from workspace.models.project_calendar import CalendarColor, ProjectCalendar
from workspace.models.requirement import Requirement
from workspace.models.risk import Risk, RiskImpact, RiskState
from workspace.models.task import Recurrence, Task, TaskState, filter_overdue, is_overdue

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
    "filter_overdue",
    "is_missed",
    "is_overdue",
]
