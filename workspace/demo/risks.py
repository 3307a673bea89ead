"""Risks and requirements of the demo."""

from workspace.demo.rows import FAIR, KITCHEN, SURVEY, WEBSITE, define_row
from workspace.models import RiskImpact, RiskState

RISK_ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=8,
            title="Search engines drop the old addresses",
            description="If redirects are missing on the day, the pages behind them are gone within a week.",
            type_key="risk.technical",
            state_key=RiskState.IDENTIFIED,
            impact=RiskImpact.CRITICAL,
            probability=0.3,
            content="Redirects by number of visits, a crawl of all old addresses on staging, and a second crawl an "
            "hour after launch.\n",
        ),
        define_row(
            number=2,
            touched=320,
            title="The agency moves offices in the launch week",
            description="They moved early; no longer a risk.",
            state_key=RiskState.CLOSED,
            impact=RiskImpact.LOW,
            probability=0.0,
        ),
        define_row(
            number=3,
            touched=6,
            title="The plan names come too late for legal",
            state_key=RiskState.OCCURRED,
            impact=RiskImpact.HIGH,
            probability=1,
            content="Launch without the pricing page if need be: *Ask us for a price* is ready on staging.\n",
        ),
        define_row(
            number=4,
            touched=148,
            title="Staging is found by search engines",
            state_key=RiskState.MITIGATED,
            impact=RiskImpact.MEDIUM,
            probability=0.1,
            content="Behind a password since the first day.\n",
        ),
    ),
    KITCHEN: (
        define_row(
            number=21,
            touched=49,
            title="The oak worktop does not come in time",
            state_key=RiskState.IDENTIFIED,
            impact=RiskImpact.HIGH,
            probability=0.5,
            content="Beech is in stock; decide a week before the fitter comes.\n",
        ),
        define_row(
            number=22,
            touched=610,
            title="Something unexpected behind the tiles",
            state_key=RiskState.IDENTIFIED,
            impact=RiskImpact.MEDIUM,
        ),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=1850,
            title="Too few people answer",
            state_key=RiskState.CLOSED,
            impact=RiskImpact.MEDIUM,
            probability=0.4,
        ),
    ),
    FAIR: (
        define_row(
            number=71,
            touched=88,
            title="No rooms within an hour of the fair",
            state_key=RiskState.IDENTIFIED,
            impact=RiskImpact.MEDIUM,
            probability=0.7,
        ),
    ),
}
REQUIREMENT_ROWS = {
    WEBSITE: (
        define_row(
            number=1,
            touched=410,
            text="Every old address with more than ten visits a month leads to the page that replaces it.",
            type_key="requirement.functional",
            priority=1,
        ),
        define_row(
            number=2,
            touched=415,
            text="The site works in Internet Explorer 11.",
            type_key="requirement.technical",
            priority=5,
            props={"said_by": "the old tender"},
        ),
        define_row(
            number=3,
            touched=412,
            text="Menu, search, contact form and checkout can be used with a keyboard and a screen reader alone.",
            type_key="requirement.accessibility",
            priority=2,
        ),
        define_row(
            number=4,
            touched=411,
            text="No cookie is set before the visitor has agreed.",
            type_key="requirement.legal",
            priority=1,
        ),
    ),
    KITCHEN: (
        define_row(number=21, touched=880, text="The worktop is 94 cm high.", priority=2),
        define_row(number=22, touched=881, text="Everything together costs at most 18,000 EUR.", priority=1),
    ),
    SURVEY: (
        define_row(
            number=51,
            touched=2320,
            text="Answers cannot be traced to a person once the voucher is drawn.",
            type_key="requirement.legal",
            priority=1,
        ),
    ),
    FAIR: (define_row(number=71, touched=580, text="The stand fits into one van.", priority=3),),
}
