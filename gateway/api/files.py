"""The file endpoints: upload a file for ops to take, and download a file that an op returned or a client uploaded."""

import re
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone
from django.utils.http import content_disposition_header, parse_header_parameters
from drf_spectacular.utils import OpenApiResponse, extend_schema

from gateway.api import requests
from gateway.api.base import GatewayView, render_envelope
from gateway.api.endpoint_docs import TEXT, build_object, build_ref, describe_endpoint
from gateway.contracts.errors import FieldError, InvalidRequestError, NotFoundError
from gateway.executors import uploads
from gateway.executors.remote import result_values
from gateway.models import Scope

UPLOAD_PATH = "/api/v1/files"
MULTIPART_BYTES = 20_000  # of a form around the file
MULTIPART, FORM = "multipart/form-data", "application/x-www-form-urlencoded"
HOW_TO_SEND = (
    "Send multipart/form-data with one file named file, or the content with its Content-Type and the header "
    'Content-Disposition: attachment; filename="report.pdf".'
)
_CONTENT_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}(\s*;\s*charset=[\w-]{1,30})?", re.ASCII)

COMPONENTS: dict[str, Any] = {
    "FileUpload": build_object({"file": {"type": "string", "format": "binary"}}),
    "StoredFile": build_object(
        {
            "id": {**TEXT, "format": "uuid"},
            "name": TEXT,
            "content_type": TEXT,
            "size": {"type": "integer", "description": "Bytes."},
            "url": TEXT,
        },
        description="A stored file. Ops take its id. Only the same client and end user can use it.",
    ),
}
file_upload = describe_endpoint(
    id="upload_file",
    summary="Upload a file for ops to take",
    body=None,
    answers={200: OpenApiResponse(build_ref("StoredFile"), description="The file is stored.")},
)
UPLOAD_BODY = {
    MULTIPART: build_ref("FileUpload"),
    "application/octet-stream": {"type": "string", "format": "binary"},
}
file_download = describe_endpoint(
    id="download_file",
    summary="Download a file that was uploaded or that an op returned",
    body=None,
    answers={
        (200, "application/octet-stream"): OpenApiResponse(
            {"type": "string", "format": "binary"},
            description="The file, with its own content type, as an attachment.",
        ),
    },
)


def get_max_upload_bytes() -> int:
    """Return how large the body of an upload can be: a file, and the form around it."""
    return int(settings.GATEWAY_FILE_MAX_BYTES) + MULTIPART_BYTES


class FilesView(GatewayView):
    """files: store a file for the client and subject of the request."""

    http_method_names = ["post"]
    scope = Scope.EXEC_WRITE

    def get_max_body_bytes(self) -> int:
        return get_max_upload_bytes()

    @extend_schema(request=UPLOAD_BODY)
    @file_upload
    def post(self, request: HttpRequest) -> HttpResponse:
        caller = self.require_caller()
        name, content_type, content = read_upload(request)
        stored = uploads.store_upload(
            caller.key.client_id, caller.subject, name=name, content_type=content_type, content=content
        )
        return render_envelope(stored, 200)


class FileView(GatewayView):
    """files: a stored file, for the client and subject that it was stored for."""

    http_method_names = ["get", "head"]
    scope = Scope.EXEC_READ

    @file_download
    def get(self, request: HttpRequest, id: UUID) -> HttpResponse:
        caller = self.require_caller()
        file = result_values.find_file(id, client_id=caller.key.client_id, subject=caller.subject, at=timezone.now())
        if file is None:
            raise NotFoundError("There is no such file, or it has expired.", reason="file_not_found")
        # Downloaded, never shown: the content is the upstream's or a user's (config/csp.py has its policy).
        disposition = content_disposition_header(as_attachment=True, filename=file.name)
        return HttpResponse(
            bytes(file.content), content_type=file.content_type, headers={"Content-Disposition": disposition or ""}
        )


def read_upload(request: HttpRequest) -> tuple[str, str, bytes]:
    """Return name, content type and content of the file in a request. Raises InvalidRequestError."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
        raise _build_unreadable_error("The body is compressed.", 415)
    return _read_form(request) if request.content_type == MULTIPART else _read_raw(request)


def _read_form(request: HttpRequest) -> tuple[str, str, bytes]:
    try:
        files = request.FILES
    except MultiPartParserError:
        raise _build_unreadable_error("The form cannot be read.") from None
    names = [(name, file) for name in files for file in files.getlist(name)]
    if [name for name, _ in names] != ["file"]:
        raise InvalidRequestError(
            f"The form has no file named file, or other files besides. {HOW_TO_SEND}",
            reason="malformed_upload",
            field_errors=[FieldError("/file", "required", "Send one file as file.", expected="file")],
        )
    file = names[0][1]
    if file.size is None or file.size > settings.GATEWAY_FILE_MAX_BYTES:
        raise uploads.build_file_too_large_error()
    return file.name or "", _check_content_type(_join_charset(file)), file.read()


def _join_charset(file: Any) -> str:
    return f"{file.content_type}; charset={file.charset}" if file.charset else (file.content_type or "")


def _read_raw(request: HttpRequest) -> tuple[str, str, bytes]:
    header = request.META.get("HTTP_CONTENT_DISPOSITION", "")
    name = read_file_name(header)
    if not name:
        raise _build_unreadable_error("The header Content-Disposition has no file name.")
    if request.content_type == FORM:  # what curl sends if nobody chose a type
        raise _build_unreadable_error(f"The Content-Type is {FORM}.", 415)
    content = request.read(get_max_upload_bytes())
    requests.check_complete(request, len(content))
    return name, _check_content_type(request.META.get("CONTENT_TYPE", "")), content


def read_file_name(header: str) -> str:
    """Return the file name of a Content-Disposition header (RFC 6266), empty if there is none."""
    try:
        name: str = parse_header_parameters(header)[1].get("filename", "")
    except (ValueError, LookupError):  # an unknown charset
        return ""
    return name.strip()


def _check_content_type(content_type: str) -> str:
    """Return a content type without what only mail has. Raises InvalidRequestError for one that is none."""
    if content_type and not _CONTENT_TYPE.fullmatch(content_type):
        raise _build_unreadable_error("The Content-Type is malformed.", 415)
    return content_type


def _build_unreadable_error(problem: str, status: int = 400) -> InvalidRequestError:
    return InvalidRequestError(f"{problem} {HOW_TO_SEND}", status=status, reason="malformed_upload")
