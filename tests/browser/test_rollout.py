"""A day of a product manager, in a real browser: 5% of the users, then 25, a look at what happened, and a stop."""

import re
from collections.abc import Callable
from datetime import timedelta

import httpx2
import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from analytics.experiments import results
from analytics.flags import FlagKey
from analytics.rollout import assignment, evaluation
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment, Cohort, Subject
from analytics.rollups import rollup_job
from analytics.rollups.models import SubjectFigures
from audit.models import AuditEntry
from demo.traffic import activity
from tests.support.console.browser_users import BrowserUser
from tests.support.servers.environment import make_key
from tests.support.servers.processes import Server, eventually
from workspace.demo import DEMO_SUBJECT

pytestmark = [pytest.mark.server, pytest.mark.browser]

NAME = "try-gateway"
USERS = [*(f"user-{number}" for number in range(200)), DEMO_SUBJECT]  # the demo's was seen by the start of the server
WITHIN_5 = [user for user in USERS if evaluation.is_within(NAME, user, 500)]
WITHIN_25 = [user for user in USERS if evaluation.is_within(NAME, user, 2_500)]

Ask = Callable[[httpx2.Client, str], str]


@pytest.fixture
def ask(server: Server) -> Ask:
    """Request a toolset, as a chat service does at the start of a turn. Returns its surface."""
    headers = {"Authorization": f"Bearer {make_key(subject='')}"}
    subjects = [Subject(subject=user, seen_at=timezone.now()) for user in USERS]
    Subject.objects.bulk_create(subjects, ignore_conflicts=True)

    def toolset(http: httpx2.Client, user: str) -> str:
        turn = headers | {"Gateway-Subject": user, "Gateway-Turn": "t1"}
        body = http.post("/api/v1/toolset", json={"format": "openai"}, headers=turn).json()
        token = turn | {"Gateway-Toolset": str(body["id"])}
        http.post("/api/v1/exec", json={"op": "onto.project.list"}, headers=token)
        return str(body["surface"])

    return toolset


def wait_for_surfaces(server: Server, ask: Ask, expected: dict[str, str]) -> None:
    """Wait until every worker gives each of these users the surface."""
    server.wait_for_workers(
        lambda http: {user: ask(http, user) for user in expected} == expected, what="following in every worker"
    )


def match_moves(count: int, before: str, after: str) -> re.Pattern[str]:
    """Return a pattern of the sentence about users who move between variants."""
    return re.compile(rf"\b{count} of last week's {len(USERS)} users move from {before} to {after}\.")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/analytics/cohort/")


def test_cohort_is_created_widened_inspected_and_stopped(
    server: Server, log_in: Callable[[str], BrowserUser], ask: Ask, take_picture: Callable[[BrowserUser, str], None]
) -> None:
    inside, later = WITHIN_5[0], next(user for user in WITHIN_25 if user not in WITHIN_5)
    outside = next(user for user in USERS if user not in WITHIN_25)
    manager = log_in("product manager")
    page = manager.page

    page.goto("/admin/")
    page.get_by_role("link", name="Add a cohort").click()
    effect = page.locator("#impact")
    page.get_by_label("Name", exact=False).first.fill(NAME)
    page.locator("#id_variant").select_option("gateway")
    page.locator("#id_percentage").fill("5")
    expect(effect).to_contain_text(match_moves(len(WITHIN_5), "legacy", "gateway"))
    expect(effect).to_contain_text(re.compile(r"Without a context, the model gains \d+ write ops and \d+ read ops"))
    assert not Cohort.objects.exists()
    take_picture(manager, "cohort")
    save(page)
    wait_for_surfaces(server, ask, {inside: "gateway", later: "legacy", outside: "legacy"})

    page.goto(f"/admin/analytics/cohort/{Cohort.objects.get().pk}/change/")
    slider = page.get_by_label("Percentage slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#id_percentage")).to_have_value("6")
    page.get_by_role("button", name="25%", exact=True).click()
    expect(page.locator("#id_percentage")).to_have_value("25")
    expect(effect).to_contain_text(match_moves(len(WITHIN_25) - len(WITHIN_5), "legacy", "gateway"))
    save(page)
    wait_for_surfaces(server, ask, {inside: "gateway", later: "gateway", outside: "legacy"})
    take_picture(manager, "cohorts")

    page.goto(f"/admin/rollout/who/?subject={outside}")
    expect(page.locator("#content")).to_contain_text("not in the 25%")
    page.get_by_label("User", exact=False).first.fill(inside)
    page.get_by_role("button", name="Who gets this?").click()
    expect(page.locator("#content")).to_contain_text("within the 25%")
    take_picture(manager, "who")

    rollup_job.run_rollup(timezone.now())
    page.goto("/admin/reports/side-by-side/")
    expect(page.locator("#content")).to_contain_text(NAME)

    page.goto(f"/admin/analytics/cohort/{Cohort.objects.get().pk}/change/")
    step = page.locator(".verdict-steps details", has_text=f"Stop {NAME}")
    step.locator("summary").click()
    expect(step).to_contain_text(match_moves(len(WITHIN_25), "gateway", "legacy"))
    step.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    wait_for_surfaces(server, ask, dict.fromkeys((inside, later, outside), "legacy"))
    expect(page.locator("#id_is_on")).not_to_be_checked()
    page.get_by_role("button", name="25%", exact=True).click()
    expect(page.locator("#id_is_on")).to_be_checked()  # who chooses a share wants the cohort on

    assigned = eventually(Assignment.objects.filter(subject=inside, variant="gateway").first, what="the exposure")
    assert assigned.cohort == NAME
    expected = [("changed", "product manager"), ("changed", "product manager"), ("added", "product manager")]
    assert list(AuditEntry.objects.filter(kind="cohort").values_list("action", "by")) == expected
    assert manager.errors == []


def test_reports_show_figures_that_link_to_their_rows(
    log_in: Callable[[str], BrowserUser], take_picture: Callable[[BrowserUser, str], None]
) -> None:
    activity.load(at=timezone.now(), turns_a_day=60)
    manager = log_in("product manager")
    page = manager.page

    page.goto("/admin/")
    page.get_by_role("link", name="Reports").click()
    chart = page.get_by_role("img", name="Line chart: Calls, ")
    expect(chart).to_be_visible()
    assert (
        page.evaluate("Chart.getChart(document.querySelector('[data-line-chart] canvas')).data.datasets[0].data.length")
        == 28
    )
    take_picture(manager, "overview")
    page.get_by_text("Show as a table").first.click()
    expect(page.get_by_role("region", name="Table: Day by day")).to_be_visible()
    page.get_by_role("link", name="Side by side").first.click()
    page.locator("#side-first").select_option("copy-a")  # a change applies by itself
    page.wait_for_url("**first=copy-a**")
    page.locator("#side-second").select_option("copy-b")
    page.wait_for_url("**second=copy-b**")
    expect(page.locator("#content")).to_contain_text("copy-b")
    take_picture(manager, "comparison")

    page.goto("/admin/reports/ops/")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").first.click()
    assert download.value.suggested_filename.endswith(".csv")
    assert "onto.task" in download.value.path().read_text()
    page.locator("#content table a[href*='/admin/analytics/operationevent/']").first.click()
    page.wait_for_url("**/admin/analytics/operationevent/**")
    expect(page.locator("#result_list")).to_be_visible()
    assert manager.errors == []


def test_manager_plans_starts_looks_and_decides_in_a_few_clicks(
    server: Server, log_in: Callable[[str], BrowserUser], ask: Ask
) -> None:
    manager = log_in("product manager")
    page = manager.page
    page.evaluate("() => sessionStorage.setItem('clicks', 0)")
    page.context.add_init_script(
        "addEventListener('click', event => event.isTrusted &&"
        " sessionStorage.setItem('clicks', Number(sessionStorage.getItem('clicks')) + 1), true)"
    )
    page.goto("/admin/")
    page.get_by_role("link", name="Rollout").click()
    page.get_by_role("link", name="Experiments").first.click()
    page.get_by_role("link", name="Add experiment").first.click()
    page.get_by_label("Name", exact=False).first.fill("typed-tools")
    page.locator("#id_arms-0-variant").select_option("legacy")
    page.locator("#id_arms-1-variant").select_option("hybrid")
    expect(page.locator("#impact")).to_contain_text("users move from legacy to hybrid")
    assert not Experiment.objects.exists()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#content")).to_contain_text("This is a draft: nobody gets it yet.")

    start = page.locator(".verdict-steps details", has_text="Start typed-tools")
    start.locator("summary").click()
    expect(start).to_contain_text("users move from legacy to hybrid")
    start.get_by_role("button", name="Confirm").click()
    expect(page.locator("#content")).to_contain_text("There are no figures yet.")
    experiment = Experiment.objects.get()
    arms = {arm.name: arm.variant for arm in experiment.list_arms()}
    rollout = assignment.load_rollout()
    chosen = {user: rollout.evaluate(FlagKey.SURFACE, EvaluationContext(subject=user)).cohort for user in USERS}
    some = {next(user for user in USERS if chosen[user] == arm): variant for arm, variant in arms.items()}
    wait_for_surfaces(server, ask, some)

    add_figures_of_users(chosen)
    for hours in (0, 1):
        results.update_results(experiment, timezone.now() + timedelta(hours=hours))
    page.reload()
    expect(page.locator(".verdict").first).to_contain_text("Surface hybrid fails")
    expect(page.locator(".chart-band")).to_be_visible()
    expect(page.locator("#content")).to_contain_text("split within chance")
    assert manager.find_accessibility_faults() == []

    ship = page.locator(".verdict-steps details", has_text="Ship hybrid")
    ship.locator("summary").click()
    ship.get_by_label("Why?").fill("Fewer failures, no harm.")
    ship.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("typed-tools is shipped.")).to_be_visible()
    experiment.refresh_from_db()
    assert (experiment.state, experiment.decision, experiment.note) == ("decided", "ship", "Fewer failures, no harm.")
    wait_for_surfaces(server, ask, dict.fromkeys(some, "hybrid"))
    assert int(page.evaluate("sessionStorage.getItem('clicks')")) <= 14
    assert manager.errors == []


def add_figures_of_users(chosen: dict[str, str]) -> None:
    """Add exposures and figures of users by their cohort: those of the new arm fail less often."""
    begin = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(minutes=1)
    for number, (user, cohort) in enumerate(chosen.items()):
        if cohort:
            key = {"flag": FlagKey.SURFACE, "variant": "x", "cohort": cohort, "subject": user}
            Assignment.objects.get_or_create(**key, defaults={"time": begin})
            failed = number % 3 + 4 * cohort.endswith("control")
            figures = {"calls": 10, "failed": failed, "op": "onto.task.get", "model": "claude", "client": "chat"}
            SubjectFigures.objects.create(begin=timezone.now(), subject=user, cohort=cohort, is_settled=True, **figures)
