"""Links and hints on pages that ask for a password."""

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from core import manifest

register = template.Library()


@register.simple_tag
def single_sign_on(next_page: str, css_class: str) -> SafeString | str:
    """Return the link, which leads to `next_page` after sign-in; "" if single sign-on is off."""
    if not settings.GATEWAY_SSO_ISSUER:
        return ""
    query = f"?{urlencode({'next': next_page})}" if next_page else ""
    address = reverse("openid_connect_login", args=["oidc"]) + query
    return format_html('<a class="{}" href="{}">Sign in with {}</a>', css_class, address, settings.GATEWAY_SSO_NAME)


@register.simple_tag
def local_sign_in_hint() -> str:
    """Return where `make run` wrote the user name and the password; "" if it did not set up this gateway."""
    if settings.PRODUCTION or not (settings.VAR_DIR / "dev.env").exists():
        return ""
    return "The output of make run has the user name and the password. They are also in var/dev.env."


@register.simple_tag
def chat_address() -> str:
    """Return where people chat; "" without the chat."""
    return next((page("") for page in manifest.get().chat_pages), "")
