"""Addresses of the authorization server. The namespace is the one in which django-oauth-toolkit looks for them."""

from django.urls import path
from oauth2_provider.views import OAuthServerMetadataView, RevokeTokenView

from gateway.oauth import validator
from gateway.oauth.views import AuthorizeView, OwnApplicationsView, ResourceMetadataView, SignInView, TokenView

app_name = "oauth2_provider"

urlpatterns = [
    path("oauth/authorize", AuthorizeView.as_view(), name="authorize"),
    path("oauth/sign-in", SignInView.as_view(), name="sign-in"),
    path("oauth/applications", OwnApplicationsView.as_view(), name="own-applications"),
    path("oauth/token", TokenView.as_view(), name="token"),
    path("oauth/revoke", RevokeTokenView.as_view(), name="revoke-token"),
    path(".well-known/oauth-authorization-server", OAuthServerMetadataView.as_view(), name="oauth-server-metadata"),
    path(".well-known/oauth-protected-resource", ResourceMetadataView.as_view(), name="oauth-resource-metadata"),
    path(validator.METADATA_PATH[1:], ResourceMetadataView.as_view(), name="oauth-resource-metadata-path"),
]
