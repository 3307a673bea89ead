"""The connect link endpoint: a link to the page on which an end user manages their keys and sign-ins."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from gateway.api.base import GatewayView, render_envelope
from gateway.api.endpoint_docs import TEXT, build_object, build_ref, describe_endpoint
from gateway.contracts.errors import InternalError, PermissionDeniedError
from gateway.credentials import user_links
from gateway.models import Scope

COMPONENTS: dict[str, Any] = {
    "ConnectLink": build_object(
        {"url": TEXT, "expires_in": {"type": "integer", "description": "Seconds."}},
        description="A link for the end user. It opens once.",
    ),
}


class ConnectLinkView(GatewayView):
    """connect-link: a link to the page of the end user."""

    http_method_names = ["get", "head"]
    scope = Scope.EXEC_READ

    @describe_endpoint(
        id="get_connect_link",
        summary="Get a link to the page where the end user manages their keys and sign-ins",
        body=None,
        answers={200: OpenApiResponse(build_ref("ConnectLink"), description="The link. It opens once.")},
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        caller = self.require_caller()
        if not caller.subject:
            raise PermissionDeniedError(
                "The page is for one end user. Send their id in Gateway-Subject.", reason="subject_required"
            )
        url = user_links.build_link(client_id=caller.key.client_id, subject=caller.subject)
        if not url:
            raise InternalError(
                "Links for end users need GATEWAY_URL, which is not set. Tell the administrator.",
                status=503,
                reason="not_configured",
            )
        return render_envelope({"url": url, "expires_in": user_links.MAX_AGE}, 200)
