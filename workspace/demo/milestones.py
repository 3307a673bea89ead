"""The milestones of the demo workspace."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, at_work_end, define_row
from workspace.models import MilestoneState

ROWS = {
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
