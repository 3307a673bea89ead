"""What the section Rollout of the console declares: its pages and its entries in the sidebar."""

from console.rollout import who_gets_this
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SidebarEntry

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]

MANIFEST = Manifest(
    pages=[AdminPage("rollout_who", "rollout/who/", who_gets_this.page)],
    entries=[
        SidebarEntry("Rollout", 1, "groups", "rollout-guide#cohorts", [ModelList("Cohorts", "analytics.Cohort")]),
        SidebarEntry("Rollout", 2, "toggle_on", "rollout-guide", [ModelList("Flags", "analytics.Flag")]),
        SidebarEntry(
            section="Rollout",
            place=3,
            icon="person_search",
            guide="rollout-guide#who-gets-this",
            pages=[
                PageLink("Who gets this?", "rollout_who", SEE_ROLLOUT),
                ModelList("Exposures", "analytics.Assignment"),
                ModelList("Users seen", "analytics.Subject"),
            ],
        ),
    ],
)
