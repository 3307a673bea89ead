"""Goals, plans and milestones of the demo."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, RelativeDay, at_work_end, define_row
from workspace.models import GoalState, MilestoneState, PlanState

GOAL_ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=60,
            name="Keep the visits from search",
            description="A relaunch often costs a third of them for months. Nobody should notice ours.",
            type_key="goal.outcome.traffic",
            state_key=GoalState.ACTIVE,
            priority=1,
            target_date=RelativeDay(55),
            measurement_criteria="Visits from search in the fourth week after launch are at least 95% of the fourth "
            "week before it.",
        ),
        define_row(
            number=2,
            touched=300,
            name="Win a design award",
            description="From the first workshop; nobody has asked for it since.",
            state_key=GoalState.DRAFT,
            priority=5,
        ),
        define_row(
            number=3,
            touched=58,
            name="Pages load in two seconds on a phone",
            type_key="goal.metric.performance",
            state_key=GoalState.ACTIVE,
            priority=2,
            target_date=RelativeDay(15),
            measurement_criteria="Home, list and product page, median of three on the old Android over 4G.",
            props={"seconds": 2},
        ),
    ),
    KITCHEN: (
        define_row(
            number=21,
            touched=160,
            name="Cook at home by the holidays",
            state_key=GoalState.ACTIVE,
            priority=1,
            target_date=RelativeDay(30),
            measurement_criteria="Dinner for eight without the hotplate in the living room.",
        ),
        define_row(
            number=22,
            touched=700,
            name="Do the electrics ourselves",
            description="Not allowed, says the insurance.",
            state_key=GoalState.ABANDONED,
        ),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=1560,
            name="Know why people do not order",
            state_key=GoalState.ACHIEVED,
            priority=1,
            target_date=RelativeDay(-63),
            measurement_criteria="At least 500 answers, and three findings the board agrees with.",
        ),
    ),
    FAIR: (
        define_row(
            number=71,
            touched=100,
            name="A hundred conversations worth a follow-up letter",
            state_key=GoalState.DRAFT,
            priority=2,
            target_date=RelativeDay(37),
            measurement_criteria="A hundred cards with a note of what was talked about.",
        ),
    ),
}
PLAN_ROWS = {
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
MILESTONE_ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=50,
            title="The new site is live",
            description="The DNS points to it, and the first order has come through.",
            type_key="milestone.launch",
            state_key=MilestoneState.PENDING,
            due_at=at_work_end(17),
        ),
        define_row(
            number=2,
            touched=310,
            title="Old milestone: beta for friends",
            description="Dropped; staging is open to everybody who asks.",
            state_key=MilestoneState.PENDING,
        ),
        define_row(
            number=3,
            touched=151,
            title="Staging is up",
            state_key=MilestoneState.COMPLETED,
            due_at=at_work_end(-6),
        ),
        define_row(
            number=4,
            touched=24,
            title="Legal has signed off the pricing page",
            state_key=MilestoneState.MISSED,
            due_at=at_work_end(-1),
            description="Delayed for as long as the plan names are.",
        ),
        define_row(
            number=5,
            touched=11,
            title="All texts are final",
            state_key=MilestoneState.IN_PROGRESS,
            due_at=at_work_end(12),
        ),
    ),
    KITCHEN: (
        define_row(
            number=21,
            touched=170,
            title="The old kitchen is out",
            state_key=MilestoneState.PENDING,
            due_at=at_work_end(15),
        ),
        define_row(
            number=22,
            touched=345,
            title="Cabinets are ordered",
            state_key=MilestoneState.COMPLETED,
            due_at=at_work_end(-14),
        ),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=1900,
            title="500 answers",
            state_key=MilestoneState.COMPLETED,
            due_at=at_work_end(-78),
        ),
    ),
    FAIR: (
        define_row(
            number=71,
            touched=98,
            title="The lorry leaves",
            state_key=MilestoneState.PENDING,
            due_at=at_work_end(33),
        ),
    ),
}
