"""The pages on which a second factor is shown, for a site that has no others of django-allauth."""

from allauth.account import views as account_views
from allauth.mfa.base import views
from allauth.mfa.webauthn import views as webauthn_views
from django.urls import path

urlpatterns = [
    path("", views.reauthenticate, name="mfa_reauthenticate"),
    path("password/", account_views.reauthenticate, name="account_reauthenticate"),  # whose name the others look up
    path("passkey/", webauthn_views.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
]
