"""The OpenAPI document, as JSON and as a page."""

from django.http import HttpResponse
from django.shortcuts import render
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from gateway.api.base import JSON_CONTENT_TYPE, PublicView
from gateway.api.openapi import document


class SchemaView(PublicView):
    """The OpenAPI document."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(document.render_document(), content_type=JSON_CONTENT_TYPE)


class DocsView(PublicView):
    """The OpenAPI document as an interactive page. All its assets are served from here."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return render(request._request, "gateway/docs.html")
