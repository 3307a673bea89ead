"""The link to single sign-on on pages that ask for a password."""

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def single_sign_on(next_page: str, css_class: str) -> SafeString | str:
    """Return the link, which leads to `next_page` after sign-in; "" if single sign-on is off."""
    if not settings.GATEWAY_SSO_ISSUER:
        return ""
    query = f"?{urlencode({'next': next_page})}" if next_page else ""
    address = reverse("openid_connect_login", args=["oidc"]) + query
    return format_html('<a class="{}" href="{}">Sign in with {}</a>', css_class, address, settings.GATEWAY_SSO_NAME)
