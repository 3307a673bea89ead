"""The two addresses of single sign-on, under the names that django-allauth looks for."""

from django.urls import path

from core.sign_in import single_sign_on

urlpatterns = [
    path("<slug:provider_id>/", single_sign_on.begin, name="openid_connect_login"),
    path("<slug:provider_id>/callback/", single_sign_on.finish, name="openid_connect_callback"),
]
