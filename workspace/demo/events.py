"""The events of the demo workspace and its project calendar. Events that show task dates are made from the tasks."""

from workspace.demo.projects import DEMO_COLLEAGUE, DEMO_SUBJECT
from workspace.demo.rows import FAIR, KITCHEN, WEBSITE, RelativeDay, RelativeTime, define_row, get_demo_id
from workspace.models import CalendarColor, Recurrence

IN_PROJECTS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=40,
            title="Website round",
            description="What is done, what is stuck, what is next. Half an hour, standing.",
            location="Room 2",
            attendees=["Ines", "agency@example.com"],
            start_at=RelativeTime(-19, 9),
            end_at=RelativeTime(-19, 10),
            recurrence=Recurrence.WEEKLY,
        ),
        define_row(
            number=2, touched=60, title="Hosting call", start_at=RelativeTime(2, 13), end_at=RelativeTime(2, 14)
        ),
        define_row(
            number=3,
            touched=45,
            title="Rehearse the launch",
            description="DNS, logs, phones and the way back, with a stopwatch.",
            attendees=["Ines", "Support"],
            start_at=RelativeTime(5, 13),
            end_at=RelativeTime(5, 15),
        ),
        define_row(
            number=4,
            touched=44,
            title="An hour for the launch plan",
            task_id=get_demo_id("task", 9),
            start_at=RelativeTime(4, 8),
            end_at=RelativeTime(4, 9),
        ),
    ),
    KITCHEN: (
        define_row(
            number=5,
            touched=70,
            title="Cabinets are delivered",
            description="Between seven and noon; somebody has to be in.",
            location="At home",
            start_date=RelativeDay(9),
            end_date=RelativeDay(9),
        ),
    ),
    FAIR: (
        define_row(
            number=6,
            touched=90,
            title="Spring trade fair",
            location="Hall 4",
            start_date=RelativeDay(35),
            end_date=RelativeDay(37),
        ),
    ),
}

OWN_EVENTS = {
    DEMO_SUBJECT: (
        define_row(
            number=21, touched=20, title="Lunch with Jonas", start_at=RelativeTime(1, 11), end_at=RelativeTime(1, 12)
        ),
        define_row(
            number=22,
            touched=80,
            title="Focus time, no calls",
            description="Writing, no mail.",
            start_at=RelativeTime(-30, 7),
            end_at=RelativeTime(-30, 9),
            recurrence=Recurrence.WEEKDAYS,
        ),
        define_row(
            number=23,
            touched=80,
            title="Water the plants",
            start_at=RelativeTime(-6, 17),
            end_at=RelativeTime(-6, 18),
            recurrence=Recurrence.DAILY,
            recurrence_until=RelativeTime(40, 17),
        ),
        define_row(
            number=24,
            touched=85,
            title="Rent is due",
            start_date=RelativeDay(-27),
            end_date=RelativeDay(-27),
            recurrence=Recurrence.MONTHLY,
        ),
        define_row(
            number=25,
            touched=85,
            title="Guitar lesson",
            location="Music school, second floor",
            start_at=RelativeTime(-10, 16),
            end_at=RelativeTime(-10, 17),
            recurrence=Recurrence.BIWEEKLY,
        ),
    ),
    DEMO_COLLEAGUE: (
        define_row(
            number=31, touched=30, title="Parents' evening", start_at=RelativeTime(3, 18), end_at=RelativeTime(3, 20)
        ),
    ),
}

CALENDARS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=60,
            name="Website relaunch - Tasks",
            description="Rounds, calls and what is due until the launch.",
            color_id=CalendarColor.BLUEBERRY,
        ),
    ),
}
