"""What the section home page of the console declares: its pages and its tabs."""

from console.home import alerts, checklist
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SectionTab

MANIFEST = Manifest(
    pages=[
        AdminPage("home_checklist_hide", "first-steps/hide/", checklist.hide_checklist),
        AdminPage("alerts", "alerts/", alerts.show_alerts),
        AdminPage("alert_silence", "alerts/<int:pk>/silence/", alerts.change_silence),
    ],
    tabs=[
        SectionTab(
            section="Home",
            place=1,
            guide="alerts",
            pages=[PageLink("Alerts", "alerts", alerts.SEE_ALERTS), ModelList("Rules", "analytics.AlertRule")],
        ),
    ],
)
