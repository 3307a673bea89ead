"""What the workspace declares. A team can remove it."""

from datetime import timedelta
from pathlib import Path

from core.demo_data import DemoData
from core.handler_contract import EmbeddedUpstream, Lookups
from core.manifest import Job, Manifest, ModelList
from workspace import demo
from workspace.handlers import HANDLERS
from workspace.handlers.generic import fields
from workspace.services import access
from workspace.services.search import row_finder
from workspace.services.undo import recording

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
    ModelList(
        "Write records", "workspace.WriteRecord", "what users changed in the last week, so that they can undo it"
    ),
    ModelList("Profiles", "workspace.Profile", "name, time zone and working hours of each user"),
]

UPSTREAM = EmbeddedUpstream(
    "workspace",
    HANDLERS,
    Lookups(
        find_rows=row_finder.find_rows,
        get_time_zone=access.get_zone,
        find_project=row_finder.find_project,
        find_title=row_finder.find_title,
        find_kind=row_finder.find_kind,
        find_date=row_finder.find_date,
        check_args=fields.check_args,
    ),
    undo_tool="undo_onto_writes",
)

MANIFEST = Manifest(
    upstreams=[UPSTREAM],
    row_finders=[recording.find_subject_rows],
    jobs=[Job("workspace.delete_write_records", recording.delete_old_records, timedelta(hours=1))],
    copy_folders=[Path(__file__).parent / "copy"],
    demos=[DemoData(subjects=(demo.DEMO_SUBJECT, demo.DEMO_COLLEAGUE), load=demo.load_and_describe)],
    areas={"workspace": [each.model.lower() for each in LISTS]},
    system_lists={"Workspace": LISTS},
)
