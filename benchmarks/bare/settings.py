"""The least that a Django REST framework project can do with: what the gateway's throughput is held against.

No database, no authentication, no throttle. CommonMiddleware alone is there, for the Content-Length: without it the
server would send chunks, which costs about as much.
"""

SECRET_KEY = "of no use here"  # noqa: S105 - nothing is signed
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
