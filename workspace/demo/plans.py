"""The plans (phases) of the demo workspace."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, RelativeDay, define_row
from workspace.models import PlanState

ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=12,
            name="Content and redirects",
            description="All pages have their text and pictures; every old address leads somewhere.",
            state_key=PlanState.ACTIVE,
            start_date=RelativeDay(-6),
            end_date=RelativeDay(12),
            plan="1. Homepage and product pages.\n2. Pictures down to 150 kB.\n3. Redirects by number of visits.\n"
            "4. Legal texts last: they wait for others.\n",
        ),
        define_row(
            number=2,
            touched=340,
            name="Old plan of the agency",
            description="Replaced by the three phases.",
            state_key=PlanState.DRAFT,
        ),
        define_row(
            number=3,
            touched=190,
            name="Foundations",
            description="Hosting, staging, templates.",
            state_key=PlanState.COMPLETED,
            start_date=RelativeDay(-20),
            end_date=RelativeDay(-7),
        ),
        define_row(
            number=4,
            touched=44,
            name="Launch",
            description="Rehearsal, the day itself and the week of watching after it.",
            state_key=PlanState.DRAFT,
            start_date=RelativeDay(13),
            end_date=RelativeDay(25),
            plan="1. Freeze the texts.\n2. Rehearse the way back.\n3. Launch on a Tuesday.\n4. Watch for a week.\n",
        ),
    ),
    KITCHEN: (
        define_row(
            number=21,
            touched=330,
            name="Decide and order",
            state_key=PlanState.ACTIVE,
            start_date=RelativeDay(-45),
            end_date=RelativeDay(10),
        ),
        define_row(
            number=22,
            touched=180,
            name="Take down and build in",
            description="From the last meal in the old kitchen to the first in the new one.",
            state_key=PlanState.DRAFT,
            start_date=RelativeDay(13),
            end_date=RelativeDay(28),
            plan="1. Empty it.\n2. Take down, wiring, ceiling.\n3. Three days of the fitter.\n4. Tiles.\n",
        ),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=1580,
            name="Ask and evaluate",
            state_key=PlanState.COMPLETED,
            start_date=RelativeDay(-100),
            end_date=RelativeDay(-63),
        ),
    ),
    FAIR: (
        define_row(
            number=71,
            touched=99,
            name="Before the fair",
            state_key=PlanState.ACTIVE,
            start_date=RelativeDay(-28),
            end_date=RelativeDay(34),
        ),
    ),
}
