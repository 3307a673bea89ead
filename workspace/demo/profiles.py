"""The profiles of the two people of the demo workspace."""

from workspace.demo.projects import DEMO_COLLEAGUE, DEMO_SUBJECT
from workspace.models import working_week

_HALF_FRIDAY = {**{day: ["09:00-12:30", "13:30-17:30"] for day in working_week.WEEKDAYS[:4]}, "friday": ["09:00-13:00"]}

# Profile number, subject, name, time zone, working hours, preferences.
ROWS = (
    (
        1,
        DEMO_SUBJECT,
        "Lena Hoffmann",
        "Europe/Berlin",
        _HALF_FRIDAY,
        {"focus": "mornings, without meetings", "meetings": "after 14:00, 45 minutes at most"},
    ),
    (2, DEMO_COLLEAGUE, "Tomas Adeyemi", "America/New_York", working_week.usual(), {"focus": "afternoons"}),
)
