"""The pages on which a second factor is shown, for a site that has no others of django-allauth."""

from allauth.mfa.base import views
from allauth.mfa.webauthn import views as webauthn_views
from django.urls import path

urlpatterns = [
    path("", views.reauthenticate, name="mfa_reauthenticate"),
    path("passkey/", webauthn_views.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
]
