from django.urls import path

from gateway.api.batches import BatchStatusView, BatchView
from gateway.api.end_users.connect_link import ConnectLinkView
from gateway.api.events import EventsView
from gateway.api.exec import AnswersView, ExecView
from gateway.api.files import FilesView, FileView
from gateway.api.help import DiscoverView, HelpView
from gateway.api.releases import ReleasesView, ReleaseView
from gateway.api.reports.experiments import ExperimentDetailView, ExperimentListView
from gateway.api.reports.views import ComparisonReportView, MissesReportView, OpsReportView, OverviewReportView
from gateway.api.toolset import EscalationView, FeedbackView, TelemetryView, ToolsetView

urlpatterns = [
    path("help", HelpView.as_view(), name="help"),
    path("exec", ExecView.as_view(), name="exec"),
    path("answers", AnswersView.as_view(), name="answers"),
    path("batch", BatchView.as_view(), name="batch"),
    path("batches/<uuid:id>", BatchStatusView.as_view(), name="batch_status"),
    path("discover/<slug:name>", DiscoverView.as_view(), name="discover"),
    path("connect-link", ConnectLinkView.as_view(), name="connect_link"),
    path("toolset", ToolsetView.as_view(), name="toolset"),
    path("toolset/<str:id>/escalate", EscalationView.as_view(), name="escalate"),
    path("telemetry", TelemetryView.as_view(), name="telemetry"),
    path("feedback", FeedbackView.as_view(), name="feedback"),
    path("events", EventsView.as_view(), name="events"),
    path("experiments", ExperimentListView.as_view(), name="experiments"),
    path("experiments/<int:id>", ExperimentDetailView.as_view(), name="experiment"),
    path("files", FilesView.as_view(), name="files"),
    path("files/<uuid:id>", FileView.as_view(), name="file"),
    path("reports/compare", ComparisonReportView.as_view(), name="report_compare"),
    path("reports/misses", MissesReportView.as_view(), name="report_misses"),
    path("reports/ops", OpsReportView.as_view(), name="report_ops"),
    path("reports/overview", OverviewReportView.as_view(), name="report_overview"),
    path("releases", ReleasesView.as_view(), name="releases"),
    path("releases/<slug:version>", ReleaseView.as_view(), name="release"),
]
