"""docs/reference/jobs.md has every periodic job and how often it runs."""

from config.docs import jobs_page
from core import manifest


def test_every_job_and_polled_function_says_what_it_does() -> None:
    rows = [line for line in jobs_page.render_page("").splitlines() if line.startswith("| `")]

    declared = manifest.get()
    assert len(rows) == len(declared.jobs) + len(declared.refreshed) + sum(map(len, declared.polled.values()))
    assert [row for row in rows if row.endswith("| . |")] == []
    assert len({row.split("|")[1] for row in rows}) == len(rows)
