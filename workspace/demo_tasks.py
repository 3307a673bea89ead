"""The tasks of the demo workspace, as plain data. workspace.demo makes rows of them."""

from dataclasses import dataclass, field
from typing import Any

from workspace.models import TaskState

TODO, IN_PROGRESS, BLOCKED, DONE = TaskState.TODO, TaskState.IN_PROGRESS, TaskState.BLOCKED, TaskState.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTask:
    """One task. Days count from the day of loading (`start` at 9:00, `due` at 17:00 UTC), `touched` in hours before.

    `number` ends its fixed id and is never given to another task.
    """

    number: int
    title: str
    state: TaskState
    priority: int
    touched: int
    description: str = ""
    type_key: str = "task.execute"
    start: int | None = None
    due: int | None = None
    props: dict[str, Any] = field(default_factory=dict)


WEBSITE = (
    DemoTask(
        number=1,
        title="Draft the homepage copy",
        state=IN_PROGRESS,
        priority=1,
        touched=2,
        type_key="task.create",
        due=3,
        description="Hero line, three benefits and one customer quote. Keep it under 150 words, use the tone guide "
        "from the kick-off, and leave the pricing paragraph out until the new plans are signed off.",
        props={"channel": "web", "word_limit": 150},
    ),
    DemoTask(
        number=2,
        title="Collect partner logos (entered twice)",
        state=TODO,
        priority=5,
        touched=30,
        description="Same as the other logo task; can go.",
    ),
    DemoTask(
        number=3,
        title="Collect partner logos",
        state=TODO,
        priority=3,
        touched=28,
        due=6,
        description="Vector files from all nine partners, with a written permission for each.",
        type_key="task.coordinate",
    ),
    DemoTask(
        number=4,
        title="Review the pricing page with legal",
        state=BLOCKED,
        priority=1,
        touched=5,
        due=-1,
        type_key="task.review",
        description="Legal wants the final plan names first. Waiting for the decision of Thursday's pricing round; as "
        "soon as the names are fixed, send them the page and ask for an answer within two working days.",
        props={"waiting_for": "pricing round"},
    ),
    DemoTask(
        number=5,
        title="Draft the redirect map for old URLs",
        state=IN_PROGRESS,
        priority=2,
        touched=9,
        start=-4,
        due=4,
        type_key="task.create.seo",
        description="Every address with more than ten visits a month gets a redirect. Export is in the shared folder.",
    ),
    DemoTask(
        number=6,
        title="Choose the hosting plan",
        state=DONE,
        priority=2,
        touched=200,
        due=-8,
        type_key="task.research",
        description="Compared three offers; took the one with staging included.",
    ),
    DemoTask(
        number=7,
        title="Set up the staging site",
        state=DONE,
        priority=2,
        touched=150,
        start=-9,
        due=-6,
    ),
    DemoTask(
        number=8,
        title="Check the site with a screen reader",
        state=TODO,
        priority=2,
        touched=52,
        due=12,
        type_key="task.review.accessibility",
        description="Menu, search, contact form and the checkout.",
    ),
    DemoTask(
        number=9,
        title="Plan the launch day",
        state=TODO,
        priority=3,
        touched=48,
        due=15,
        type_key="task.plan",
        description="Who switches the DNS, who watches the logs, who answers the phone; and how to go back.",
    ),
    DemoTask(
        number=10,
        title="Translate the product pages into German",
        state=TODO,
        priority=4,
        touched=75,
        start=5,
        due=18,
        type_key="task.create.translation",
        description="Übersetzung der acht Produktseiten; Fachbegriffe stehen im Glossar.",
    ),
    DemoTask(
        number=11,
        title="Review the analytics consent banner",
        state=TODO,
        priority=3,
        touched=100,
        due=-2,
        type_key="task.review",
        description="Reject must be as easy as accept.",
    ),
    DemoTask(
        number=12,
        title="Tell support about the new help pages",
        state=TODO,
        priority=5,
        touched=120,
        type_key="task.coordinate",
    ),
)

KITCHEN = (
    DemoTask(
        number=21,
        title="Measure the walls and windows",
        state=DONE,
        priority=1,
        touched=900,
        due=-40,
        description="Twice; the left wall is not at a right angle.",
    ),
    DemoTask(
        number=22,
        title="Get three quotes for the cabinets",
        state=DONE,
        priority=2,
        touched=400,
        start=-35,
        due=-17,
        type_key="task.research",
        props={"quotes": 3, "currency": "EUR"},
    ),
    DemoTask(
        number=23,
        title="Order the worktop",
        state=BLOCKED,
        priority=1,
        touched=49,
        due=2,
        description="The supplier is out of the oak we want until the end of the month.",
        props={"waiting_for": "supplier"},
    ),
    DemoTask(
        number=24,
        title="Ask the electrician for a date",
        state=TODO,
        priority=2,
        touched=60,
        due=1,
        type_key="task.coordinate",
        description="Two more sockets by the window, and the cooker on its own circuit.",
    ),
    DemoTask(
        number=25,
        title="Compare induction hobs",
        state=IN_PROGRESS,
        priority=3,
        touched=50,
        due=9,
        type_key="task.research",
        description="Four zones, 60 cm, knobs if there are any. Tests say that the cheaper ones whistle; listen to one "
        "in a shop before deciding.",
    ),
    DemoTask(
        number=26,
        title="Clear out the old pantry",
        state=TODO,
        priority=4,
        touched=240,
        start=10,
        due=13,
    ),
    DemoTask(
        number=27,
        title="Choose tiles for the back wall",
        state=TODO,
        priority=4,
        touched=300,
        due=20,
        type_key="task.refine",
        description="Samples are in the hall.",
    ),
    DemoTask(
        number=28,
        title="Sell the old fridge",
        state=TODO,
        priority=5,
        touched=310,
        type_key="task.admin",
    ),
)
