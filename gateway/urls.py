from django.urls import path

from gateway.views import ExecView, HelpView

urlpatterns = [
    path("help", HelpView.as_view(), name="help"),
    path("exec", ExecView.as_view(), name="exec"),
]
