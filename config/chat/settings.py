"""Settings of the chat's process: those of the gateway's, with the chat's own apps, middleware and URLs."""

from config.settings import *  # noqa: F403 - a settings module
from config.settings import DATABASES, SINGLE_SIGN_ON_APPS

INSTALLED_APPS = [
    "chat",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "axes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "config.chat.apps.ChatWiringConfig",
    *SINGLE_SIGN_ON_APPS,
]

MIDDLEWARE = [
    "config.csp.content_security",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "core.sign_in.second_factor.SecondFactorMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

# Under ASGI each request has its own thread, whose connection would stay open until it is garbage-collected.
DATABASES["default"]["CONN_MAX_AGE"] = 0

ROOT_URLCONF = "config.chat.urls"
ASGI_APPLICATION = "config.asgi.application"

LOGIN_URL = "chat_sign_in"
LOGIN_REDIRECT_URL = "chat_page"
CSRF_FAILURE_VIEW = "chat.pages.error_pages.csrf_failure"
