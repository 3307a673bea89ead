"""Admin pages of events, daily figures, turns and the audit log, and base classes that record changes in it."""

from analytics.admin.audit_log import KIND_PERMISSIONS, AuditEntryAdmin
from analytics.admin.audited import AuditedAdmin, AuditHistoryAdmin
from analytics.admin.events import PROBLEM_PARAMETER, OperationEventAdmin
from analytics.admin.log_lists import LogAdmin
from analytics.admin.notifications import NotificationAdmin
from analytics.admin.rollups import OpDailyAdmin, RollupAdmin
from analytics.admin.turns import ToolSelectionAdmin, TurnAdmin

__all__ = [
    "KIND_PERMISSIONS",
    "PROBLEM_PARAMETER",
    "AuditEntryAdmin",
    "AuditHistoryAdmin",
    "AuditedAdmin",
    "LogAdmin",
    "NotificationAdmin",
    "OpDailyAdmin",
    "OperationEventAdmin",
    "RollupAdmin",
    "ToolSelectionAdmin",
    "TurnAdmin",
]
