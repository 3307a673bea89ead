"""What the section Reports of the console declares: its pages and its entries in the sidebar."""

from functools import partial

from console.reports import report_page, saved_views
from console.reports.report_list import REPORT_PERMISSIONS, REPORTS
from core.manifest import AdminPage, Manifest, PageLink, SidebarEntry

GUIDE = "rollout-guide#measuring-the-effect-reports"
LINKS = {each.url_name: PageLink(each.title, each.url_name, REPORT_PERMISSIONS) for each in REPORTS}
COMPARISON, MISSES = LINKS["report_comparison"], LINKS["report_misses"]  # have their own entries

MANIFEST = Manifest(
    pages=[
        AdminPage("saved_view_save", "saved-views/save/", saved_views.save),
        AdminPage("saved_view_delete", "saved-views/delete/", saved_views.delete),
        *(AdminPage(report.url_name, report.path, partial(report_page.page, report=report)) for report in REPORTS),
    ],
    entries=[
        SidebarEntry(
            "Reports", 1, "monitoring", GUIDE, [link for link in LINKS.values() if link not in (COMPARISON, MISSES)]
        ),
        SidebarEntry("Reports", 2, "compare", "rollout-guide#is-one-better", [COMPARISON]),
        SidebarEntry("Reports", 3, "search_off", "evals#from-traffic", [MISSES]),
    ],
)
