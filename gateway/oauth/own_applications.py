"""The page on which a user sees which applications have access, and ends it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from gateway.models import SignedInApplication
from gateway.oauth import sign_ins


@method_decorator(never_cache, name="dispatch")
class OwnApplicationsView(LoginRequiredMixin, View):
    """Lists the applications of the user who is signed in. A POST with `id` ends the access of one of them."""

    http_method_names = ["get", "post"]
    login_url = reverse_lazy("oauth2_provider:sign-in")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the list."""
        links = self._find(request).filter(key__revoked_at=None).order_by("application__name")
        return render(
            request, "gateway/oauth/own_applications.html", {"links": links, "gateway_url": settings.GATEWAY_URL}
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """End the access. An application that has none any more is no error: another tab may have ended it."""
        id = request.POST.get("id", "")
        link = self._find(request).filter(pk=id).first() if id.isdecimal() and len(id) < 19 else None
        if link is not None:
            sign_ins.end_access(link, by=request.user.get_username(), at=timezone.now())
            messages.success(request, f"{link.application} has no access any more.")
        return redirect("oauth2_provider:own-applications")

    def _find(self, request: HttpRequest) -> QuerySet[SignedInApplication]:
        user: Any = request.user  # signed in, which the type does not say
        return SignedInApplication.objects.select_related("application", "key").filter(user=user)
