"""Every model of this app in one place, where Django looks for them. Others import them from where they are defined."""

from analytics.alerts.models import Alert, AlertRule
from analytics.events.models import EventLoss, OperationEvent
from analytics.events.stored_contents import StoredContents
from analytics.reports.models import SavedView
from analytics.rollout.experiments import Experiment, ExperimentResult
from analytics.rollout.models import Assignment, Cohort, CohortRule, Flag, Subject
from analytics.rollups.models import OpDaily, Rollup, SubjectFigures
from analytics.turns.models import Feedback, ToolSelection, Turn
from analytics.turns.prices import ModelPrice

__all__ = [
    "Alert",
    "AlertRule",
    "Assignment",
    "Cohort",
    "CohortRule",
    "EventLoss",
    "Experiment",
    "ExperimentResult",
    "Feedback",
    "Flag",
    "ModelPrice",
    "OpDaily",
    "OperationEvent",
    "Rollup",
    "SavedView",
    "StoredContents",
    "Subject",
    "SubjectFigures",
    "ToolSelection",
    "Turn",
]
