"""The documents of the demo workspace, as plain data. workspace.demo makes rows of them."""

from dataclasses import dataclass, field
from typing import Any

from workspace.models import DocumentState


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """One document. `touched` counts in hours before the moment of loading.

    `number` ends its fixed id and is never given to another document.
    """

    number: int
    title: str
    state: DocumentState
    touched: int
    content: str
    description: str = ""
    type_key: str = "document.default"
    props: dict[str, Any] = field(default_factory=dict)


WEBSITE = (
    DemoDocument(
        number=1,
        title="Tone guide",
        state=DocumentState.PUBLISHED,
        touched=170,
        type_key="document.guide.editorial",
        description="How the new site speaks, from the kick-off.",
        content="# Tone guide\n\nWe write as we talk to a customer across the counter.\n\n"
        "- Short sentences, one thought each.\n- Say *you* and *we*, never *the user*.\n"
        "- No superlatives; a figure says more.\n- Verbs on buttons: *Order a sample*, not *Submission*.\n\n"
        "## Words\n\nPlan, not package. Free, not complimentary. Delivery, not fulfilment.\n",
        props={"owner": "editorial"},
    ),
    DemoDocument(
        number=2,
        title="Notes from the first call (superseded)",
        state=DocumentState.DRAFT,
        touched=420,
        content="Everything in here went into the tone guide; can go.\n",
    ),
    DemoDocument(
        number=3,
        title="Launch day runbook",
        state=DocumentState.IN_REVIEW,
        touched=26,
        type_key="document.runbook",
        description="Who does what on the day, and how to go back.",
        content="# Launch day\n\n1. 07:00 freeze the old site, last export.\n2. 07:30 switch the DNS; TTL is 300 s.\n"
        "3. 08:00 smoke test: home, search, checkout, contact form.\n4. 09:00 tell support.\n\n"
        "## Going back\n\nSwitch the DNS to the old address. Decide by 10:00; after the first order on the new "
        "site there is no way back without re-keying it by hand.\n",
    ),
    DemoDocument(
        number=4,
        title="Pricing page, wording for legal",
        state=DocumentState.READY,
        touched=6,
        type_key="document.text",
        description="Goes to legal as soon as the plan names are fixed.",
        content="## Plans\n\nAll prices without VAT. You can cancel every month; we refund what is left of it.\n\n"
        "| plan | seats | price |\n|---|---|---|\n| *name 1* | 3 | 29 EUR |\n| *name 2* | 10 | 79 EUR |\n",
    ),
    DemoDocument(
        number=5,
        title="Hosting comparison",
        state=DocumentState.ARCHIVED,
        touched=205,
        type_key="document.research",
        description="Three offers for the new site, and why we took the second.",
        content="# Hosting\n\nThe second offer includes staging and backups; the first charges for both, the third has "
        "no data centre in the EU.\n",
    ),
)

KITCHEN = (
    DemoDocument(
        number=21,
        title="Measurements",
        state=DocumentState.READY,
        touched=890,
        type_key="document.notes",
        description="Walls, windows and sockets in millimetres.",
        content="- Left wall 3,412 (top) and 3,398 (floor)\n- Window 1,200 × 1,050, sill at 940\n"
        "- Cooker outlet 610 from the corner\n",
    ),
)
