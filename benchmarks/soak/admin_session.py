"""What an admin does during a soak: read pages, and now and then change the draft and publish it."""

import httpx2
from lxml import html

from benchmarks.load import UnexpectedResponse

PAGES = {
    "Home": "/admin/",
    "list of events": "/admin/analytics/operationevent/",
    "report by op": "/admin/reports/ops/",
    "list of ops": "/admin/registry/op/",
    "overview of reports": "/admin/reports/",
}


def publish_change(http: httpx2.Client, *, edition: int) -> None:
    """Change the summary of a group in the draft, review the draft and publish it. Raises as read_page does."""
    groups = read_page(http, "/admin/registry/group/")
    [group, *_] = groups.xpath("//a[contains(@href, '/registry/group/') and contains(@href, '/change/')]/@href")
    _submit_form(http, group, "summary", f"Records of the soak, edition {edition}")
    _submit_form(http, "/admin/registry/release/review/", "note", f"Edition {edition}")


def read_page(http: httpx2.Client, path: str) -> html.HtmlElement:
    """Return a page. Raises UnexpectedResponse or a TransportError."""
    response = http.get(path)
    if response.status_code != 200:
        raise UnexpectedResponse(f"GET {path}: {response.status_code} {response.text[:300]}")
    return html.fromstring(response.content)


def _submit_form(http: httpx2.Client, path: str, field: str, value: str) -> None:
    """Fill in the form of a page that has a field, and send it."""
    [form] = [form for form in read_page(http, path).forms if field in form.fields]
    response = http.post(path, data=dict(form.form_values()) | {field: value})
    if response.status_code != 302:  # the page again, with errors
        raise UnexpectedResponse(f"POST {path}: {response.status_code}, not saved")
