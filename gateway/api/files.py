"""The file endpoint: download a file that an op has returned."""

from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from gateway.api.base import GatewayView
from gateway.api.endpoint_docs import describe_endpoint
from gateway.contracts.errors import NotFoundError
from gateway.executors.remote import result_values
from gateway.models import Scope

file_download = describe_endpoint(
    id="download_file",
    summary="Download a file that an op returned",
    body=None,
    answers={
        (200, "application/octet-stream"): OpenApiResponse(
            {"type": "string", "format": "binary"},
            description="The file, with its own content type, as an attachment.",
        ),
    },
)


class FileView(GatewayView):
    """files: a stored file, for the client and subject whose call stored it."""

    http_method_names = ["get", "head"]
    scope = Scope.EXEC_READ

    @file_download
    def get(self, request: Request, id: UUID) -> HttpResponse:
        caller = self.require_caller()
        file = result_values.find_file(id, client_id=caller.key.client_id, subject=caller.subject, at=timezone.now())
        if file is None:
            raise NotFoundError("There is no such file, or it has expired.", reason="file_not_found")
        # Downloaded, never shown: the content is the upstream's (config/csp.py has its policy).
        disposition = content_disposition_header(as_attachment=True, filename=file.name)
        return HttpResponse(
            bytes(file.content), content_type=file.content_type, headers={"Content-Disposition": disposition or ""}
        )
