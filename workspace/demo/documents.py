"""The documents of the demo workspace and their tree: guides, notes, brain dumps."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, define_row
from workspace.models import DocumentState

_WEBSITE = (
    define_row(
        number=1,
        title="Tone guide",
        state_key=DocumentState.PUBLISHED,
        touched=170,
        type_key="document.guide.editorial",
        description="How the new site speaks, from the kick-off.",
        content="# Tone guide\n\nWe write as we talk to a customer across the counter.\n\n"
        "- Short sentences, one thought each.\n- Say *you* and *we*, never *the user*.\n"
        "- No superlatives; a figure says more.\n- Verbs on buttons: *Order a sample*, not *Submission*.\n\n"
        "## Words\n\nPlan, not package. Free, not complimentary. Delivery, not fulfilment.\n",
        props={"owner": "editorial"},
    ),
    define_row(
        number=2,
        title="Notes from the first call (superseded)",
        state_key=DocumentState.DRAFT,
        touched=420,
        content="Everything in here went into the tone guide; can go.\n",
    ),
    define_row(
        number=3,
        title="Launch day runbook",
        state_key=DocumentState.IN_REVIEW,
        touched=26,
        type_key="document.runbook",
        description="Who does what on the day, and how to go back.",
        content="# Launch day\n\n1. 07:00 freeze the old site, last export.\n2. 07:30 switch the DNS; TTL is 300 s.\n"
        "3. 08:00 smoke test: home, search, checkout, contact form.\n4. 09:00 tell support.\n\n"
        "## Going back\n\nSwitch the DNS to the old address. Decide by 10:00; after the first order on the new "
        "site there is no way back without re-keying it by hand.\n",
    ),
    define_row(
        number=4,
        title="Pricing page, wording for legal",
        state_key=DocumentState.READY,
        touched=6,
        type_key="document.text",
        description="Goes to legal as soon as the plan names are fixed.",
        content="## Plans\n\nAll prices without VAT. You can cancel every month; we refund what is left of it.\n\n"
        "| plan | seats | price |\n|---|---|---|\n| *name 1* | 3 | 29 EUR |\n| *name 2* | 10 | 79 EUR |\n",
    ),
    define_row(
        number=5,
        title="Hosting comparison",
        state_key=DocumentState.ARCHIVED,
        touched=205,
        type_key="document.research",
        description="Three offers for the new site, and why we took the second.",
        content="# Hosting\n\nThe second offer includes staging and backups; the first charges for both, the third has "
        "no data centre in the EU.\n",
    ),
    define_row(
        number=6,
        title="What visitors ask first",
        state_key=DocumentState.READY,
        touched=375,
        type_key="document.note",
        category="research",
        tags=["visitors", "interviews"],
        description="From the three interviews.",
        content="Delivery time, then whether one can touch the material, then the price. Nobody asked who we are.\n",
    ),
    define_row(
        number=7,
        title="Words that search engines know us by",
        state_key=DocumentState.READY,
        touched=140,
        type_key="document.note",
        category="search traffic",
        content="*oak worktop sample*, *cork floor sample*, *linoleum colours*: together 61% of the visits from "
        "search. Their pages keep title, address and first paragraph.\n",
    ),
    define_row(
        number=8,
        title="On the train home, after the kick-off",
        state_key=DocumentState.DRAFT,
        touched=440,
        type_key="document.brain_dump",
        description="Dictated, not tidied up.",
        content="so the site has to be faster that is the one thing everybody agreed on and somebody must talk to "
        "legal before the names are final, Tuesday maybe. staging first. ask Ines about photographs of the showroom, "
        "mornings are best. and the partners, nine of them, the logos, in writing. launch not on a Friday!\n",
        ai_summary="Speed comes first. Legal is to see the plan names early; staging comes before content. Showroom "
        "photographs in the morning, logos of nine partners with permission, and no launch on a Friday.",
        operation_count=5,
    ),
    define_row(
        number=9,
        title="Decisions of the weekly round",
        state_key=DocumentState.PUBLISHED,
        touched=40,
        type_key="document.minutes",
        description="One line per decision, newest first.",
        content="- The news archive goes to one page; nobody reads it.\n- No chat window at launch.\n"
        "- German follows two weeks after English if the translation is late.\n",
        props={"round": 6},
    ),
)

_KITCHEN = (
    define_row(
        number=21,
        title="Measurements",
        state_key=DocumentState.READY,
        touched=890,
        type_key="document.notes",
        description="Walls, windows and sockets in millimetres.",
        content="- Left wall 3,412 (top) and 3,398 (floor)\n- Window 1,200 × 1,050, sill at 940\n"
        "- Cooker outlet 610 from the corner\n",
    ),
    define_row(
        number=22,
        title="Hobs that do not whistle",
        state_key=DocumentState.DRAFT,
        touched=51,
        type_key="document.note",
        category="appliances",
        tags=["hob"],
        content="The shop by the station lets you switch them on. The second from the left was silent on 6 and 7.\n",
    ),
    define_row(
        number=23,
        title="Three quotes for the cabinets",
        state_key=DocumentState.READY,
        touched=398,
        type_key="document.research",
        description="What each includes, and why we took the middle one.",
        content="| joiner | EUR | weeks | takes the old ones away |\n|---|---|---|---|\n| Brandt | 7,900 | 9 | no |\n"
        "| Osei | 8,450 | 5 | yes |\n| Kitchen hall | 6,200 | 12 | no |\n",
        props={"currency": "EUR"},
    ),
    define_row(
        number=24,
        title="Sunday evening list",
        state_key=DocumentState.DRAFT,
        touched=160,
        type_key="document.brain_dump",
        content="tap!! window opens inwards. who waters the plants. van for the tip, maybe Saturday. is the left wall "
        "worth straightening or do we just cut the worktop. living room needs a hotplate\n",
        ai_summary="Find a low tap, share out the plants, rent a van, decide about the left wall, set up a hotplate.",
        operation_count=4,
    ),
)

_SURVEY = (
    define_row(
        number=51,
        title="Customer survey, the results",
        state_key=DocumentState.PUBLISHED,
        touched=1570,
        type_key="document.report",
        description="Three findings and what we propose.",
        content="# Results\n\n812 of 3,127 customers answered (26%).\n\n1. Samples decide: 71% ordered after one.\n"
        "2. Delivery time is asked for most, and found by 38%.\n3. The shop works on a phone for 54%.\n\n"
        "## Proposal\n\nShow the delivery time on every product page.\n",
        props={"answers": 812},
    ),
    define_row(
        number=52,
        title="Invitation text",
        state_key=DocumentState.ARCHIVED,
        touched=2105,
        type_key="document.text",
        content="Five minutes, twelve questions: tell us what the shop is like to use. Among all answers we draw a "
        "voucher of 100 EUR. We delete your address when the survey ends.\n",
    ),
)

_FAIR = (
    define_row(
        number=71,
        title="Rules of the fair",
        state_key=DocumentState.READY,
        touched=590,
        type_key="document.note",
        category="organiser",
        content="Building up from noon the day before. Nothing higher than 2.50 m, no nails in the floor.\n",
    ),
)

ROWS = {WEBSITE: _WEBSITE, KITCHEN: _KITCHEN, SURVEY: _SURVEY, FAIR: _FAIR}

# The parent of each document that is not at the root. Siblings are in the order above.
PARENTS = {
    2: 9,  # the notes of the first call under the decisions made in it
    4: 1,  # the wording for legal under the tone guide
    5: 3,  # the hosting comparison under the runbook that switches to the new host
    6: 1,  # what visitors ask under the tone guide, with search words below it
    7: 6,
    8: 9,
    23: 21,  # the quotes under the measurements they are based on
    52: 51,
}
