"""The projects of the demo workspace and their members."""

from workspace.demo.rows import (
    FAIR,
    GARDEN,
    KITCHEN,
    PHOTO_BOOK,
    SURVEY,
    WEBSITE,
    at_work_end,
    at_work_start,
    define_row,
)
from workspace.models import MemberRole, ProjectState

DEMO_SUBJECT = "demo-user"  # owns all projects but one
DEMO_COLLEAGUE = "demo-colleague"  # viewer of the newest project; owner of one that the demo user can edit
DEMO_SUBJECTS = frozenset((DEMO_SUBJECT, DEMO_COLLEAGUE))

OWNERS = {
    WEBSITE: DEMO_SUBJECT,
    KITCHEN: DEMO_SUBJECT,
    SURVEY: DEMO_SUBJECT,
    FAIR: DEMO_COLLEAGUE,
    GARDEN: DEMO_SUBJECT,
    PHOTO_BOOK: DEMO_SUBJECT,
}

# Membership number, project, subject, role.
MEMBERSHIPS = (
    (1, WEBSITE, DEMO_SUBJECT, MemberRole.OWNER),
    (2, WEBSITE, DEMO_COLLEAGUE, MemberRole.VIEWER),
    (3, KITCHEN, DEMO_SUBJECT, MemberRole.OWNER),
    (4, SURVEY, DEMO_SUBJECT, MemberRole.OWNER),
    (5, FAIR, DEMO_COLLEAGUE, MemberRole.OWNER),
    (6, FAIR, DEMO_SUBJECT, MemberRole.EDITOR),
    (7, PHOTO_BOOK, DEMO_SUBJECT, MemberRole.OWNER),
    (8, GARDEN, DEMO_SUBJECT, MemberRole.OWNER),
)

# Days between the creation and the last update of each project.
DAYS_FROM_CREATION = {WEBSITE: 26, KITCHEN: 58, SURVEY: 50, FAIR: 30, GARDEN: 40, PHOTO_BOOK: 15}

ROWS = (
    define_row(
        number=WEBSITE,
        touched=1,
        name="Website relaunch",
        description="New design, new texts and faster pages for the company site, launched without losing search "
        "traffic. Done when the old site is switched off and nobody has complained for a week.",
        type_key="project.technical.website",
        state_key=ProjectState.ACTIVE,
        start_at=at_work_start(-20),
        end_at=at_work_end(25),
        slug="website-relaunch",
        executive_summary="The company site gets a new design and loads in under two seconds. Staging is up, the texts "
        "are half written; what worries us are the plan names, which legal needs before the pricing page.",
        tags=["website", "marketing", "seo"],
        context="## Where we stand\n\nStaging runs. Redirects and pictures are under way, the texts wait for the plan "
        "names.\n\n## Who\n\n- Ines: photographs, social media\n- The agency: design and templates\n"
        "- Legal: pricing page, privacy\n\n## What we know of the visitors\n\nMost come from search, look for the "
        "delivery time and order a sample.\n",
        props={"facets": {"context": "commercial", "scale": "medium", "stage": "execution"}},
    ),
    define_row(
        number=KITCHEN,
        touched=49,
        name="Kitchen renovation",
        description="New cabinets, worktop and wiring, within 18,000 EUR and before the holidays.",
        type_key="project.personal.home.renovation",
        state_key=ProjectState.ACTIVE,
        start_at=at_work_start(-45),
        slug="kitchen-renovation",
        tags=["home"],
        context="Cabinets are ordered from Osei, five weeks. The left wall is not at a right angle, so the worktop is "
        "cut on site.\n",
        props={"budget_eur": 18000, "facets": {"context": "personal", "scale": "small", "stage": "execution"}},
    ),
    define_row(
        number=SURVEY,
        touched=1490,
        name="Autumn customer survey",
        description="Ask the customers of the shop what keeps them from ordering.",
        type_key="project.business.research.survey",
        state_key=ProjectState.COMPLETED,
        start_at=at_work_start(-100),
        end_at=at_work_end(-62),
        slug="autumn-customer-survey",
        executive_summary="812 customers answered. Samples decide the order, and hardly anybody finds the delivery "
        "time; the board wants it on every product page.",
        tags=["customers", "research"],
        props={"facets": {"context": "commercial", "scale": "small", "stage": "complete"}},
    ),
    define_row(
        number=FAIR,
        touched=86,
        name="Spring trade fair",
        description="A stand of our own for the first time: three days, four people, six series of samples.",
        type_key="project.service.event.trade_fair",
        state_key=ProjectState.PLANNING,
        start_at=at_work_start(35),
        end_at=at_work_end(37),
        slug="spring-trade-fair",
        tags=["marketing", "fair"],
        props={"hall": 4},
    ),
    define_row(
        number=GARDEN,
        touched=1900,
        name="Roof garden",
        description="Beds and a seat on the flat roof. It waits until the roof has been checked.",
        type_key="project.personal.garden",
        state_key=ProjectState.PAUSED,
        slug="roof-garden",
        tags=["home"],
    ),
    define_row(
        number=PHOTO_BOOK,
        touched=2990,
        name="Photo book for the golden wedding",
        description="Overtaken by events: my sister has made one.",
        type_key="project.creative.book",
        state_key=ProjectState.CANCELLED,
        slug="photo-book-for-the-golden-wedding",
        tags=["family"],
    ),
)
