"""Baseline versions of help and exec at the same URLs."""

import json
import os
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

ANSWER = json.loads(os.environ["BENCHMARKS_ANSWER"])  # a help response of the gateway


class BareHelpView(APIView):
    """Return a dictionary, rendered on every request as DRF does."""

    def get(self, request: Request) -> Response:
        return Response(ANSWER)


class BareExecView(APIView):
    """Parse the body and return a small dictionary."""

    def post(self, request: Request) -> Response:
        body: Any = request.data
        return Response({"op": body["op"], "ok": True})


urlpatterns = [path("api/v1/help", BareHelpView.as_view()), path("api/v1/exec", BareExecView.as_view())]
