"""Sign-in and sign-out. People have the users of the console."""

import logging
import math
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone

from core.server.environ import read_client_address
from core.sign_in.throttle import MAX_WAIT_SECONDS, PasswordHashingBusy, SignInLocked

log = logging.getLogger(__name__)

TOO_MANY_REQUESTS = 429


class ChatSignInView(LoginView):
    """The form. It says why a password was not checked, if sign-in is locked or the server is busy."""

    template_name = "chat/sign_in.html"
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        """Return where people go if they did not come from another page."""
        return reverse("chat_page")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the password."""
        try:
            return super().post(request, *args, **kwargs)
        except SignInLocked as lock:
            seconds = max(1, math.ceil((lock.until - timezone.now()).total_seconds()))
            minutes = math.ceil(seconds / 60)
            return self._refuse(
                f"There were too many wrong passwords. Try again after {lock.until:%H:%M} UTC, in {minutes} "
                f"minute{pluralize(minutes)}. An administrator can unlock it sooner.",
                retry_after=seconds,
            )
        except PasswordHashingBusy:
            log.warning("sign_in.busy path=%s address=%s", request.path, read_client_address(request.META))
            message = "The server is checking other passwords. Nothing was changed. Try again."
            return self._refuse(message, retry_after=math.ceil(MAX_WAIT_SECONDS))

    def _refuse(self, message: str, *, retry_after: int) -> HttpResponse:
        """Show the form again with a message. The form is not validated, as that would check the password."""
        form = AuthenticationForm(self.request, initial={"username": self.request.POST.get("username", "")})
        context = self.get_context_data(form=form, refusal=message)
        response = self.render_to_response(context, status=TOO_MANY_REQUESTS)
        response.headers["Retry-After"] = str(retry_after)
        return response


class SignOutView(LogoutView):
    """Sign out (POST only) and show the form."""

    http_method_names = ["post", "options"]

    def get_default_redirect_url(self) -> str:
        """Return where people go next."""
        return reverse("chat_sign_in")
