"""Settings in three parts: Django, third parties, ours. .env.example lists all environment variables, with units."""

import os
import re
from decimal import Decimal
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from django.core.exceptions import ImproperlyConfigured

from config.local import load_local_secrets

django_stubs_ext.monkeypatch()

# Must be set before numpy is imported: BLAS threads would compete with the threads that serve requests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

GATEWAY_ENV = env.str("GATEWAY_ENV", default="local")
if GATEWAY_ENV not in ("local", "production"):
    raise ImproperlyConfigured(f"GATEWAY_ENV is {GATEWAY_ENV!r}; set it to local or production.")
PRODUCTION = GATEWAY_ENV == "production"


def read_secret(name: str) -> str:
    """Return a secret from the environment. Local mode generates a default; production has none."""
    value: str = env.str(name, default="")
    if not PRODUCTION:
        return value or load_local_secrets(VAR_DIR)[name]
    if len(value) >= 32:
        return value
    raise ImproperlyConfigured(
        f"{name} is {'too short' if value else 'not set'}. In production set it to 50 or more random characters, "
        'for example from python -c "import secrets; print(secrets.token_urlsafe(50))", and keep it the same on '
        "every machine."
    )


def read_list(name: str, default: str = "") -> list[str]:
    """Return the comma-separated items of a variable, without spaces."""
    return [each.strip() for each in env.str(name, default=default).split(",") if each.strip()]


def read_networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Return the comma-separated networks of a variable."""
    try:
        return [ip_network(cidr) for cidr in read_list(name)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}. Set it to networks separated by commas: 10.1.0.0/16,fd00:1::/64."
        ) from error


def read_number(name: str, *, default: int, least: int = 0) -> int:
    """Return a whole number of at least `least`. Raises ImproperlyConfigured for anything else."""
    value: str = env.str(name, default="") or str(default)
    if value.isascii() and value.isdigit() and int(value) >= least:
        return int(value)
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to a whole number of {least} or more.")


_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


def read_amount(name: str, *, default: str) -> Decimal:
    """Return an amount of money, with up to six decimals."""
    value: str = env.str(name, default="") or default
    if _AMOUNT.fullmatch(value):
        return Decimal(value)
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to an amount such as {default}.")


# --- Django -----------------------------------------------------------------------------------------------------------

SECRET_KEY = read_secret("SECRET_KEY")
DEBUG = False
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS") or ([] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"])
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS is not set. Set it to the host names of this server: gateway.acme.com.")
CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "gateway",
    "registry",
    "workspace",
    "analytics",
    "unfold.apps.BasicAppConfig",  # the admin's theme; before django.contrib.admin, so that its templates win
    "core.admin.site.SiteConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.apps.WiringConfig",  # connects the packages above, so it comes last
]

MIDDLEWARE = [
    "config.csp.content_security",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.api_first",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"admin_format": "core.templatetags.admin_format"},
        },
    }
]

DEFAULT_STATEMENT_TIMEOUT_MS = read_number("GATEWAY_STATEMENT_TIMEOUT_MS", default=30_000, least=100)

if PRODUCTION and not env.str("DATABASE_URL", default=""):
    raise ImproperlyConfigured(
        "DATABASE_URL is not set. Set it to the database that all processes share: postgres://user:password@host/name."
    )
DATABASES = {"default": env.db_url_config(env.str("DATABASE_URL", default="") or f"sqlite:///{VAR_DIR / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets readers continue during a write. IMMEDIATE takes the write lock at BEGIN, so that a transaction that
    # reads first and writes later waits instead of failing with "database is locked".
    DATABASES["default"] |= {
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
        },
        "TEST": {"NAME": str(VAR_DIR / "test.sqlite3")},  # a file: threads and server processes share it
    }
else:
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        {
            # `timeout`: seconds that a call waits for a connection. `reconnect_timeout`: seconds that the pool retries
            # in the background, with growing pauses; after that the next call makes it try at once.
            "pool": {
                "min_size": 1,
                "max_size": read_number("GATEWAY_DB_POOL_SIZE", default=16, least=1),
                "timeout": 2,
                "reconnect_timeout": 4,
            },
            "options": f"-c statement_timeout={DEFAULT_STATEMENT_TIMEOUT_MS}",
        }
    )
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_REDIRECT_URL = "admin:index"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static" if PRODUCTION else None  # local mode serves the files from where they are

if PRODUCTION:
    SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=True)
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = read_number("SECURE_HSTS_SECONDS", default=31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    # Probes use plain HTTP inside the cluster. The API refuses plain HTTP with its own error (config/middleware.py).
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$", r"^api/v1/", r"^ofrep/v1/"]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
SESSION_COOKIE_AGE = 12 * 3600
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "core.logs.formatter",
            "as_json": PRODUCTION,
            "secrets": [
                SECRET_KEY,
                read_secret("GATEWAY_KEY_PEPPER"),
                DATABASES["default"].get("PASSWORD", ""),
                env.str("WEB_SEARCH_KEY", default=""),
                urlsplit(env.str("CELERY_BROKER_URL", default="")).password or "",
            ],
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django.request": {"level": "ERROR"},  # every 4xx has an envelope and an event already
        "httpx2": {"level": "WARNING"},  # at INFO it logs URLs with their query strings
        "celery.app.trace": {"level": "WARNING"},  # at INFO it logs two lines per message
        "celery.worker.strategy": {"level": "WARNING"},
        "httpcore2": {"level": "INFO"},  # at DEBUG it logs response headers, cookies included
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}

# --- third parties ----------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["gateway.api.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["gateway.api.authentication.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["gateway.clients.rate_limit.KeyThrottle"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# Batches. If no broker is set, each web process has one in memory and a worker in threads (config/celery.py).
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="") or "memory://localhost/"
EMBEDDED_BROKER = CELERY_BROKER_URL.startswith("memory:")
if EMBEDDED_BROKER:
    CELERY_BROKER_TRANSPORT = "config.memory_broker:WakingTransport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {}
elif CELERY_BROKER_URL.startswith(("redis", "sentinel")):
    # Seconds; without these, a call would wait forever for a Redis that does not respond.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2}
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {}
CELERY_BROKER_CONNECTION_TIMEOUT = 2
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # None: workers retry forever
# After a lost connection Celery (5.7) takes fewer messages until its running tasks have ended. Each thread that ends
# then asks RabbitMQ for more over the connection that the main thread is reading, which is a deadlock.
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "gateway"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = read_number("GATEWAY_BATCH_THREADS", default=8, least=1)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_IMPORTS = ["gateway.batches.tasks"]

SPECTACULAR_SETTINGS = {
    "TITLE": "Tool Gateway",
    "DESCRIPTION": "Three tools instead of dozens: a model lists, reads help and runs ops by path.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": ["gateway.api.openapi.document.add_components"],
}

UNFOLD = {
    "SITE_TITLE": "Tool Gateway",
    "SITE_HEADER": "Tool Gateway",
    "SITE_SYMBOL": "alt_route",
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "core.admin.base.icon"}],
    "STYLES": ["core.admin.base.stylesheet"],
    "SCRIPTS": ["core.admin.base.script"],
    "COLORS": {"primary": {"500": "oklch(70% .19 304)"}},  # on dark backgrounds unfold's default is too dark
    "DASHBOARD_CALLBACK": "gateway.admin.home.context",
    "SIDEBAR": {"navigation": "config.sidebar.sections", "show_search": True, "command_search": True},
}

WHITENOISE_USE_FINDERS = not PRODUCTION
# Without autorefresh WhiteNoise reads file sizes once at startup, and would cut off files that are edited later.
WHITENOISE_AUTOREFRESH = not PRODUCTION
WHITENOISE_MAX_AGE = 60 if PRODUCTION else 0
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- ours -------------------------------------------------------------------------------------------------------------

GATEWAY_KEY_PEPPER = read_secret("GATEWAY_KEY_PEPPER")
GATEWAY_BODY_MAX_BYTES = read_number("GATEWAY_BODY_MAX_BYTES", default=1_000_000, least=1_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = max(2_500_000, GATEWAY_BODY_MAX_BYTES)  # Django's limit, which applies to admin forms
GATEWAY_IDEMPOTENCY_HOURS = read_number("GATEWAY_IDEMPOTENCY_HOURS", default=24, least=1)

# Batches: seconds until a batch responds; seconds after which a background batch starts no more entries; hours that its
# results are stored.
GATEWAY_BATCH_SECONDS = read_number("GATEWAY_BATCH_SECONDS", default=25, least=1)
GATEWAY_BATCH_BACKGROUND_SECONDS = read_number("GATEWAY_BATCH_BACKGROUND_SECONDS", default=3600, least=1)
GATEWAY_BATCH_HOURS = read_number("GATEWAY_BATCH_HOURS", default=24, least=1)

# Non-public networks that outgoing HTTP may call, and the allowed ports of public hosts (core/http/ssrf.py).
GATEWAY_OUTGOING_ALLOW = read_networks("GATEWAY_OUTGOING_ALLOW")
_ports = read_list("GATEWAY_OUTGOING_PORTS", default="80,443")
if not all(port.isascii() and port.isdigit() and 0 < int(port) < 65_536 for port in _ports):
    raise ImproperlyConfigured("GATEWAY_OUTGOING_PORTS is invalid. Set it to ports separated by commas: 80,443,8443.")
GATEWAY_OUTGOING_PORTS = [int(port) for port in _ports]

# util.web: non-public networks that URLs from a model may reach, and the search endpoint. The latter is set by the
# administrator, so GATEWAY_OUTGOING_ALLOW applies to it.
WEB_VISIT_ALLOW = read_networks("WEB_VISIT_ALLOW")
WEB_SEARCH_KIND = env.str("WEB_SEARCH_KIND", default="") or "searxng"
if WEB_SEARCH_KIND not in ("searxng", "tavily"):
    raise ImproperlyConfigured(f"WEB_SEARCH_KIND is {WEB_SEARCH_KIND!r}; set it to searxng or tavily.")
WEB_SEARCH_URL = env.str("WEB_SEARCH_URL", default="")
if WEB_SEARCH_URL and not WEB_SEARCH_URL.startswith(("http://", "https://")):
    raise ImproperlyConfigured("WEB_SEARCH_URL: set it to a full URL, such as https://search.acme.com/search.")
WEB_SEARCH_KEY = env.str("WEB_SEARCH_KEY", default="")

# Master switch of the gateway surface. If off, the surface flag is "legacy" for everyone.
AGENTIC_CHAT_TOOL_GATEWAY = env.str("AGENTIC_CHAT_TOOL_GATEWAY", default="").lower() in ("1", "true", "yes", "on")

# Operation events: days that events and turns are stored; days that their args and results are stored (0: never).
GATEWAY_EVENT_DAYS = read_number("GATEWAY_EVENT_DAYS", default=90, least=1)
GATEWAY_CONTENT_DAYS = read_number("GATEWAY_CONTENT_DAYS", default=0)

# Releases that a process holds in memory, including the live one.
GATEWAY_RELEASES_KEPT = read_number("GATEWAY_RELEASES_KEPT", default=4, least=2)

# Days that daily figures are stored, and the price of a million input tokens in US dollars.
GATEWAY_FIGURES_DAYS = read_number("GATEWAY_FIGURES_DAYS", default=400, least=7)
GATEWAY_DOLLARS_PER_MILLION_TOKENS = read_amount("GATEWAY_DOLLARS_PER_MILLION_TOKENS", default="2.00")

# Bearer token that /metrics requires.
GATEWAY_METRICS_TOKEN = env.str("GATEWAY_METRICS_TOKEN", default="")
if PRODUCTION and 0 < len(GATEWAY_METRICS_TOKEN) < 32:
    raise ImproperlyConfigured("GATEWAY_METRICS_TOKEN is too short. Set it to 32 or more random characters.")
