"""Pages on which people see and change how they sign in, under the names that django-allauth looks for.

People sign in with the console's form, so most pages of django-allauth are left out.
"""

from allauth.account import views
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("login/", RedirectView.as_view(pattern_name="admin:login", query_string=True), name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("reauthenticate/", views.reauthenticate, name="account_reauthenticate"),
    path("second-factor/", include("allauth.mfa.urls")),
    path("sessions/", include("allauth.usersessions.urls")),
]
