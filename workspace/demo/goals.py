"""The goals of the demo workspace."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, RelativeDay, define_row
from workspace.models import GoalState

ROWS = {
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
