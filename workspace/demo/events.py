"""The events of the demo workspace and its project calendar. Events that show task dates are made from the tasks."""

from workspace.demo.projects import DEMO_COLLEAGUE, DEMO_SUBJECT
from workspace.demo.rows import FAIR, KITCHEN, WEBSITE, Clock, Day, id_of, row
from workspace.models import CalendarColor, Recurrence

IN_PROJECTS = {
    WEBSITE: (
        row(
            number=1,
            touched=40,
            title="Website round",
            description="What is done, what is stuck, what is next. Half an hour, standing.",
            location="Room 2",
            attendees=["Ines", "agency@example.com"],
            start_at=Clock(-19, 9),
            end_at=Clock(-19, 10),
            recurrence=Recurrence.WEEKLY,
        ),
        row(number=2, touched=60, title="Hosting call", start_at=Clock(2, 13), end_at=Clock(2, 14)),
        row(
            number=3,
            touched=45,
            title="Rehearse the launch",
            description="DNS, logs, phones and the way back, with a stopwatch.",
            attendees=["Ines", "Support"],
            start_at=Clock(5, 13),
            end_at=Clock(5, 15),
        ),
        row(
            number=4,
            touched=44,
            title="An hour for the launch plan",
            task_id=id_of("task", 9),
            start_at=Clock(4, 8),
            end_at=Clock(4, 9),
        ),
    ),
    KITCHEN: (
        row(
            number=5,
            touched=70,
            title="Cabinets are delivered",
            description="Between seven and noon; somebody has to be in.",
            location="At home",
            start_date=Day(9),
            end_date=Day(9),
        ),
    ),
    FAIR: (
        row(number=6, touched=90, title="Spring trade fair", location="Hall 4", start_date=Day(35), end_date=Day(37)),
    ),
}

OWN = {
    DEMO_SUBJECT: (
        row(number=21, touched=20, title="Lunch with Jonas", start_at=Clock(1, 11), end_at=Clock(1, 12)),
        row(
            number=22,
            touched=80,
            title="Focus time, no calls",
            description="Writing, no mail.",
            start_at=Clock(-30, 7),
            end_at=Clock(-30, 9),
            recurrence=Recurrence.WEEKDAYS,
        ),
        row(
            number=23,
            touched=80,
            title="Water the plants",
            start_at=Clock(-6, 17),
            end_at=Clock(-6, 18),
            recurrence=Recurrence.DAILY,
            recurrence_until=Clock(40, 17),
        ),
        row(
            number=24,
            touched=85,
            title="Rent is due",
            start_date=Day(-27),
            end_date=Day(-27),
            recurrence=Recurrence.MONTHLY,
        ),
        row(
            number=25,
            touched=85,
            title="Guitar lesson",
            location="Music school, second floor",
            start_at=Clock(-10, 16),
            end_at=Clock(-10, 17),
            recurrence=Recurrence.BIWEEKLY,
        ),
    ),
    DEMO_COLLEAGUE: (row(number=31, touched=30, title="Parents' evening", start_at=Clock(3, 18), end_at=Clock(3, 20)),),
}

CALENDARS = {
    WEBSITE: (
        row(
            number=1,
            touched=60,
            name="Website relaunch - Tasks",
            description="Rounds, calls and what is due until the launch.",
            color_id=CalendarColor.BLUEBERRY,
        ),
    ),
}
