"""What the section Reports of the console declares: its pages and its tabs."""

from functools import partial

from console.reports import report_page, saved_views
from console.reports.report_list import REPORT_PERMISSIONS, REPORTS
from core.manifest import AdminPage, Manifest, PageLink, SectionTab

GUIDE = "rollout-guide#measuring-the-effect-reports"
LINKS = {
    each.url_name: PageLink(
        each.title, each.url_name, REPORT_PERMISSIONS, is_needed=each.is_needed, keywords=each.keywords
    )
    for each in REPORTS
}
OVERVIEW = ("report_overview", "report_ops", "report_models", "report_clients", "report_funnel", "report_selection")

MANIFEST = Manifest(
    pages=[
        AdminPage("saved_view_save", "saved-views/save/", saved_views.save),
        AdminPage("saved_view_delete", "saved-views/delete/", saved_views.delete),
        *(
            AdminPage(report.url_name, report.path, partial(report_page.show_report, report=report))
            for report in REPORTS
        ),
    ],
    tabs=[
        SectionTab("Reports", 1, GUIDE, [LINKS[name] for name in OVERVIEW]),
        SectionTab("Reports", 2, "rollout-guide#is-one-better", [LINKS["report_comparison"]]),
        SectionTab("Reports", 3, "evals#from-traffic", [LINKS["report_misses"], LINKS["report_dead_ends"]]),
    ],
)
