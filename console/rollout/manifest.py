"""What the section Rollout of the console declares: its pages and its tabs."""

from console.rollout import who_gets_this
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SectionTab

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]

MANIFEST = Manifest(
    pages=[AdminPage("rollout_who", "rollout/who/", who_gets_this.show_who_gets_this)],
    tabs=[
        SectionTab(
            section="Rollout",
            place=1,
            guide="rollout-guide#cohorts",
            pages=[
                ModelList("Cohorts", "analytics.Cohort"),
                ModelList("Flags", "analytics.Flag"),
            ],
        ),
        SectionTab(
            section="Rollout",
            place=2,
            guide="experiments#in-the-console",
            pages=[
                ModelList("Experiments", "analytics.Experiment"),
                ModelList("Model prices", "analytics.ModelPrice"),
            ],
        ),
        SectionTab(
            section="Rollout",
            place=3,
            guide="rollout-guide#who-gets-this",
            pages=[
                PageLink("Who gets this?", "rollout_who", SEE_ROLLOUT),
                ModelList("Exposures", "analytics.Assignment"),
                ModelList("Users seen", "analytics.Subject"),
            ],
        ),
    ],
)
