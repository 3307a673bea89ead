"""The bare peers of help and exec, at the same addresses."""

import json
import os
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

ANSWER = json.loads(os.environ["BENCHMARKS_ANSWER"])  # what the gateway's help answered


class Get(APIView):
    """Answers a dictionary, rendered anew each time, as DRF does."""

    def get(self, request: Request) -> Response:
        return Response(ANSWER)


class Post(APIView):
    """Parses the body and answers a small dictionary."""

    def post(self, request: Request) -> Response:
        body: Any = request.data
        return Response({"op": body["op"], "ok": True})


urlpatterns = [path("api/v1/help", Get.as_view()), path("api/v1/exec", Post.as_view())]
