"""OpenAPI of stored files."""

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import describe_endpoint

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
