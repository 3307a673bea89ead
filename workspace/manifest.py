"""What the workspace declares. A team can remove it."""

from core.manifest import Manifest, ModelList

LISTS = [
    ModelList("Projects", "workspace.Project"),
    ModelList("Memberships", "workspace.Membership"),
    ModelList("Tasks", "workspace.Task"),
    ModelList("Documents", "workspace.Document"),
    ModelList("Goals", "workspace.Goal"),
    ModelList("Plans", "workspace.Plan"),
    ModelList("Milestones", "workspace.Milestone"),
    ModelList("Risks", "workspace.Risk"),
    ModelList("Requirements", "workspace.Requirement"),
    ModelList("Edges", "workspace.Edge", "which row blocks, contains or follows which"),
    ModelList("Calendar events", "workspace.CalendarEvent"),
    ModelList("Project calendars", "workspace.ProjectCalendar"),
    ModelList("Profiles", "workspace.Profile", "name, time zone and working hours of each user"),
]

MANIFEST = Manifest(
    areas={"workspace": [each.model.lower() for each in LISTS]},
    system_lists={"Workspace": LISTS},
)
