"""What the section Rollout of the console declares: its pages and its tabs."""

from console.rollout import who_gets_this
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SectionTab

MANIFEST = Manifest(
    pages=[AdminPage("rollout_who", "rollout/who/", who_gets_this.show_who_gets_this)],
    actions=[
        PageLink("Add cohort", "analytics_cohort_add", ["analytics.add_cohort"], keywords=["new cohort", "roll out"]),
        PageLink(
            "Add experiment",
            "analytics_experiment_add",
            ["analytics.add_experiment"],
            keywords=["new experiment", "A/B test"],
        ),
    ],
    go_to_sources=[who_gets_this.find_subjects],
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
                ModelList(
                    "Experiments", "analytics.Experiment", keywords=["tokens per success", "cost", "dollars per turn"]
                ),
                ModelList("Model prices", "analytics.ModelPrice", keywords=["cost", "dollars"]),
            ],
        ),
        SectionTab(
            section="Rollout",
            place=3,
            guide="rollout-guide#who-gets-this",
            pages=[
                PageLink("Who gets this?", "rollout_who", who_gets_this.SEE_ROLLOUT),
                ModelList("Exposures", "analytics.Assignment"),
                ModelList("Users seen", "analytics.Subject", keywords=["end users", "subjects"]),
            ],
        ),
    ],
)
