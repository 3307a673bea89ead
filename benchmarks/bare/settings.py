"""A minimal Django REST framework project: the baseline for the gateway's throughput.

No database, authentication or throttling. CommonMiddleware is the only middleware; it sets the Content-Length. Without
it the server would send chunked responses, which cost about as much.
"""

SECRET_KEY = "not-a-secret"  # noqa: S105 - nothing is signed
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "benchmarks.bare.urls"
INSTALLED_APPS = ["rest_framework"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
USE_I18N = False
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_THROTTLE_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
