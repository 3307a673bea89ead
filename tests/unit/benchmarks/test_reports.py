import pytest
from django.utils import timezone

from analytics.rollups import rollup_job
from benchmarks import ops, reports, rows, synthetic
from core.handler_contract import EmbeddedUpstream
from gateway.executors import in_process


@pytest.mark.django_db
def test_each_report_is_timed_on_a_catalog_with_one_release(monkeypatch: pytest.MonkeyPatch) -> None:
    in_process.add_upstream(EmbeddedUpstream(synthetic.CONNECTION, ops.HANDLERS))
    rows.create_ops(12)
    rows.publish_draft()
    rollup_job.catch_up(timezone.now())  # as the servers of earlier benchmarks do
    monkeypatch.setattr(reports, "OP_COUNT", 12)

    measured = reports.measure_reports(400)

    assert measured["events"] > 0
    assert measured["pages"].keys() == reports.PAGES.keys()
    assert all(milliseconds > 0 for milliseconds in measured["pages"].values())
