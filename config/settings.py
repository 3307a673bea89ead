"""Settings in three parts: Django, third parties, ours. .env.example lists all environment variables, with units."""

import os
from datetime import timedelta
from urllib.parse import urlsplit

import django_stubs_ext

from config import env, env_addresses
from config.env import BASE_DIR, VAR_DIR

django_stubs_ext.monkeypatch()

# Must be set before numpy is imported: BLAS threads would compete with the threads that serve requests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

env.load_env_file(BASE_DIR / ".env")

GATEWAY_ENV = env.read_environment("GATEWAY_ENV")
PRODUCTION = GATEWAY_ENV == "production"

API_PREFIXES = ("/api/v1/", "/ofrep/v1/", "/mcp")  # paths of the API; all others are pages and probes

# --- Django -----------------------------------------------------------------------------------------------------------

SECRET_KEY = env.read_secret("SECRET_KEY", production=PRODUCTION)
DEBUG = False
ALLOWED_HOSTS = env_addresses.read_hosts("ALLOWED_HOSTS", default="" if PRODUCTION else "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_addresses.read_origins("CSRF_TRUSTED_ORIGINS")

# Apps that a team can remove, and those that it adds. Each says in its manifest.py what it offers (core/manifest.py).
GATEWAY_APPS = env.read_apps("GATEWAY_APPS", default="workspace,chat,demo")

INSTALLED_APPS = [
    "console",
    "gateway",
    *GATEWAY_APPS,
    "registry",
    "analytics",
    "notifications",
    "audit",
    "unfold.apps.BasicAppConfig",  # the console's theme; before django.contrib.admin, so that its templates win
    "core.admin.site.SiteConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "oauth2_provider",  # its endpoints exist only if GATEWAY_OAUTH is on
    "axes",  # before the last app with models, after which the roles get their permissions (console/apps.py)
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.apps.WiringConfig",  # connects the packages above, so it comes last
]

# Single sign-on (core/sign_in/single_sign_on.py). Its apps take 5 MB of each process, so they are loaded only if it is
# used.
GATEWAY_SSO_ISSUER = env_addresses.read_url(
    "GATEWAY_SSO_ISSUER", example="https://login.acme.com", is_secure=PRODUCTION
).rstrip("/")
GATEWAY_SSO_NAME = env.read_label("GATEWAY_SSO_NAME", default="single sign-on")
SINGLE_SIGN_ON_APPS = (
    ["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"] if GATEWAY_SSO_ISSUER else []
)
INSTALLED_APPS += SINGLE_SIGN_ON_APPS

MIDDLEWARE = [
    "config.middleware.api_first",  # answers the API itself, so nothing below sees its calls
    "config.csp.content_security",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "core.sign_in.second_factor.SecondFactorMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "console.access.failed_sign_ins.RefusalMiddleware",
    "console.access.account_pages.AccountPagesMiddleware",
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
            "libraries": {
                "admin_format": "core.templatetags.admin_format",
                "sign_in": "core.templatetags.sign_in",
            },
        },
    }
]

DEFAULT_STATEMENT_TIMEOUT_MS = env.read_number("GATEWAY_STATEMENT_TIMEOUT_MS", default=30_000, least=100)
_pool_size = env.read_number("GATEWAY_DB_POOL_SIZE", default=20, least=2)  # one stays with the poller

DATABASES = {
    "default": env_addresses.read_database("DATABASE_URL", default=None if PRODUCTION else VAR_DIR / "db.sqlite3")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets readers continue during a write. IMMEDIATE takes the write lock at BEGIN, so that a transaction that
    # reads first and writes later waits instead of failing with "database is locked".
    DATABASES["default"] |= {
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-2000;",
        },
        "TEST": {"NAME": str(VAR_DIR / "test.sqlite3")},  # a file: threads and server processes share it
    }
else:
    from core.database.connections import LimitedConnection

    LimitedConnection.default_seconds = DEFAULT_STATEMENT_TIMEOUT_MS / 1000
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        {
            # `timeout`: seconds that a call waits for a connection. `reconnect_timeout`: seconds that the pool retries
            # in the background, with growing pauses; after that the next call makes it try immediately.
            "pool": {
                "min_size": 1,
                "max_size": _pool_size,
                "timeout": 2,
                "reconnect_timeout": 4,
                "connection_class": LimitedConnection,
            },
            "connect_timeout": 5,  # seconds
            # To compile a statement takes longer than it saves: none of ours should run for seconds. The temporary
            # tables of a roll-up stay in memory.
            "options": f"-c statement_timeout={DEFAULT_STATEMENT_TIMEOUT_MS} -c jit=off -c temp_buffers=64MB",
        }
    )
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first, so that a locked sign-in hashes no password
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "core.sign_in.throttle.BoundedArgon2PasswordHasher",
    "core.sign_in.throttle.BoundedPBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

# Second factors and the list of sessions (core/sign_in/second_factor.py).
GATEWAY_REQUIRE_SECOND_FACTOR = env.read_boolean("GATEWAY_REQUIRE_SECOND_FACTOR", default=PRODUCTION)
ACCOUNT_ADAPTER = "core.sign_in.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_RATE_LIMITS = False  # wrong codes count like wrong passwords (core/sign_in/adapters.py)
SOCIALACCOUNT_ADAPTER = "core.sign_in.single_sign_on.SocialAccountAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # a form could not be redirected to the provider: the policy of our pages forbids it
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": "oidc",
                "name": GATEWAY_SSO_NAME,
                "client_id": env.read_token("GATEWAY_SSO_CLIENT_ID"),
                "secret": env.read_token("GATEWAY_SSO_CLIENT_SECRET"),
                "settings": {
                    "server_url": GATEWAY_SSO_ISSUER,
                    "oauth_pkce_enabled": True,
                    # For providers that verify each address but do not say so.
                    "verified_email": env.read_boolean("GATEWAY_SSO_TRUSTS_EMAIL", default=False),
                },
            }
        ]
    }
}
MFA_ADAPTER = "core.sign_in.adapters.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {"reauthenticate": "core.sign_in.adapters.CodeForm"}
MFA_TOTP_TOLERANCE = 1  # codes before and after this one, for clocks that differ
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION  # http://localhost

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static", ("guides", BASE_DIR / "docs" / "images")]  # the pictures of the guides
STATIC_ROOT = VAR_DIR / "static" if PRODUCTION else None  # local mode serves the files from where they are

# Also read in local mode, so that a wrong value is found before production.
_ssl_redirect = env.read_boolean("SECURE_SSL_REDIRECT", default=True)
_hsts_seconds = env.read_number("SECURE_HSTS_SECONDS", default=31_536_000)
if PRODUCTION:
    SECURE_SSL_REDIRECT = _ssl_redirect
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = _hsts_seconds
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    # Probes use plain HTTP inside the cluster. The API refuses plain HTTP with its own error (config/middleware.py).
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$", *(f"^{each[1:]}" for each in API_PREFIXES)]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
SESSION_COOKIE_AGE = 12 * 3600
X_FRAME_OPTIONS = "DENY"

GATEWAY_KEY_PEPPER = env.read_secret("GATEWAY_KEY_PEPPER", production=PRODUCTION)
GATEWAY_ENCRYPTION_KEYS = env.read_encryption_keys("GATEWAY_ENCRYPTION_KEYS", production=PRODUCTION)
CELERY_BROKER_URL = env_addresses.read_broker_url("CELERY_BROKER_URL") or "memory://localhost/"
WEB_SEARCH_KEY = env.read_token("WEB_SEARCH_KEY")
SEARCH_EMBEDDINGS_KEY = env.read_token("SEARCH_EMBEDDINGS_KEY")
LLM_API_KEY = env.read_token("LLM_API_KEY")
OTEL_EXPORTER_OTLP_HEADERS = env.read_headers("OTEL_EXPORTER_OTLP_HEADERS")
CHAT_GATEWAY_KEY = env.read_token("CHAT_GATEWAY_KEY")

# E-mail. Without EMAIL_URL none is sent.
_email = env_addresses.read_email_url("EMAIL_URL")
GATEWAY_SENDS_EMAIL = bool(_email)
EMAIL_BACKEND = _email.get("EMAIL_BACKEND", "django.core.mail.backends.dummy.EmailBackend")
EMAIL_HOST, EMAIL_PORT = _email.get("EMAIL_HOST", ""), _email.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = _email.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = _email.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _email.get("EMAIL_USE_TLS", False), _email.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.read_name("EMAIL_FROM", default="gateway@localhost")
# One webhook for the same messages, signed with the secret.
GATEWAY_NOTIFY_URL = env_addresses.read_url("GATEWAY_NOTIFY_URL", example="https://hooks.acme.com/gateway")
GATEWAY_NOTIFY_SECRET = env.read_webhook_secret(
    "GATEWAY_NOTIFY_SECRET", required_for="GATEWAY_NOTIFY_URL" if GATEWAY_NOTIFY_URL else ""
)
# The incoming webhook of a chat tool, for the same messages as text.
GATEWAY_NOTIFY_CHAT_URL = env_addresses.read_url(
    "GATEWAY_NOTIFY_CHAT_URL", example="https://hooks.slack.com/services/T000/B000/XXXX"
)

_log_level = env.read_choice("LOG_LEVEL", choices=["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], default="INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "core.logs.build_formatter",
            "as_json": PRODUCTION,
            "secrets": [
                SECRET_KEY,
                GATEWAY_KEY_PEPPER,
                *GATEWAY_ENCRYPTION_KEYS,
                DATABASES["default"].get("PASSWORD", ""),
                WEB_SEARCH_KEY,
                SEARCH_EMBEDDINGS_KEY,
                LLM_API_KEY,
                OTEL_EXPORTER_OTLP_HEADERS,
                CHAT_GATEWAY_KEY,
                EMAIL_HOST_PASSWORD,
                GATEWAY_NOTIFY_SECRET,
                GATEWAY_NOTIFY_CHAT_URL,
                *(urlsplit(url).password or "" for url in CELERY_BROKER_URL.split(";")),
            ],
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": _log_level},
    "loggers": {
        "django.request": {"level": "ERROR"},  # every 4xx has an envelope and an event already
        "psycopg.pool": {"level": "ERROR"},  # at WARNING it logs two lines per second while the database is away
        "axes": {"level": "CRITICAL"},  # gateway/sign_in logs failed sign-ins
        "oauth2_provider": {"level": "WARNING"},  # at DEBUG it logs authorization codes
        "oauthlib": {"level": "WARNING"},  # at DEBUG it logs tokens
        "mcp": {"level": "WARNING"},  # at INFO it logs four lines per request
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
    "DEFAULT_PERMISSION_CLASSES": [],  # scope and rate: GatewayView.admit
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# prometheus_client reads the variable. config/wsgi.py sets it for servers; other processes need none.
env.make_folder("PROMETHEUS_MULTIPROC_DIR")

# Limits of wrong passwords (core/sign_in/throttle.py).
AXES_HANDLER = "core.sign_in.throttle.SignInThrottle"
AXES_USERNAME_CALLABLE = "core.sign_in.throttle.get_account"
AXES_CLIENT_IP_CALLABLE = "core.server.environ.get_axes_address"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address", "username"]
AXES_FAILURE_LIMIT = 1  # the handler counts the limits that are reached
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # else somebody could lock an account for ever
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False  # console/access/failed_sign_ins.py has the list
AXES_VERBOSE = False
SILENCED_SYSTEM_CHECKS = [
    "axes.W002",  # it asks for AxesMiddleware; RefusalMiddleware takes its place
    "oauth2_provider.W008",  # it refuses every http:// redirect; programs on the user's machine need http://127.0.0.1
]

# Sign-in of MCP clients (gateway/oauth): authorization code with PKCE, refresh tokens with rotation, public clients.
GATEWAY_OAUTH = env.read_boolean("GATEWAY_OAUTH", default=False)
# Where browsers find the gateway: end users sign in to upstreams there, and stored files have their address there.
GATEWAY_URL = env_addresses.read_url(
    "GATEWAY_URL", example="https://gateway.acme.com", required_for="GATEWAY_OAUTH" if GATEWAY_OAUTH else ""
).rstrip("/")
if GATEWAY_OAUTH and urlsplit(GATEWAY_URL).path:  # its metadata would be at another address (RFC 8414, RFC 9728)
    raise env.InvalidSetting(
        "GATEWAY_URL", "has a path, but GATEWAY_OAUTH is on", "one such as https://gateway.acme.com"
    )
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"  # the default, which migrations read here
OAUTH2_PROVIDER = {
    "OAUTH2_SERVER_CLASS": "oauthlib.oauth2.WebApplicationServer",  # no other grants
    "OAUTH2_VALIDATOR_CLASS": "gateway.oauth.validator.PublicClientValidator",
    "ACCESS_TOKEN_GENERATOR": "gateway.oauth.validator.generate_token",  # refresh tokens as well
    "SCOPES": {"mcp": "Use the tools"},
    "DEFAULT_SCOPES": ["mcp"],
    "OIDC_ISS_ENDPOINT": GATEWAY_URL,
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none"],
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 86_400,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOW_LOCALHOST_LOOPBACK": True,  # programs on the user's machine register localhost and listen on any port
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": "gateway.oauth.client_documents.GuardedFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ["gateway.oauth.client_documents.OnlyForSignedInUsers"],
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,  # tokens are stored as hashes only
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}

# Batches. If no broker is set, each web process runs tasks in its own threads (core/background/task_queue.py).
EMBEDDED_BROKER = CELERY_BROKER_URL.startswith("memory:")
if CELERY_BROKER_URL.startswith(("redis", "sentinel")):
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
# Installations that share a broker must not get each other's messages.
CELERY_TASK_DEFAULT_QUEUE = env.derive_queue_name(SECRET_KEY, DATABASES["default"]["NAME"])
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = env.read_number("GATEWAY_BATCH_THREADS", default=8, least=1)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_IMPORTS = ["gateway.batches.tasks", "notifications.tasks"]

API_DESCRIPTION = """Three tools instead of dozens: a model lists, reads help and runs ops by path.

**How to get a key.** An Admin adds one in the console under [API keys](/admin/gateway/apikey/add/); it is shown once.
On the server, `manage.py create_api_key` does the same. `make run` writes one to `var/dev.env`, bound to the demo's
user. Send it as `Authorization: Bearer <key>`; here, paste it under *Authorize*. A key that is not bound to an end
user sends `Gateway-Subject`, too.

**Where to start.** `POST /api/v1/help` with `{}` lists what there is, `POST /api/v1/exec` runs an op.
"""
SPECTACULAR_SETTINGS = {
    "TITLE": "Tool Gateway",
    "DESCRIPTION": API_DESCRIPTION,
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": ["gateway.api.pages.add_components"],
}

UNFOLD = {
    "SITE_TITLE": "Tool Gateway",
    "SITE_HEADER": "Tool Gateway",
    "SITE_SYMBOL": "alt_route",
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "core.admin.base.get_icon_url"}],
    "STYLES": ["core.admin.base.get_stylesheet_url"],
    "SCRIPTS": [
        "core.admin.base.get_alpine_script_url",
        "core.admin.base.get_accessibility_script_url",
        "core.admin.base.get_go_to_script_url",
        "core.admin.base.get_save_script_url",
        "core.admin.base.get_time_zone_script_url",
    ],
    "COLORS": {"primary": {"500": "oklch(70% .19 304)"}},  # on dark backgrounds unfold's default is too dark
    "DASHBOARD_CALLBACK": "console.home.page.build_context",
    "ACCOUNT": {"navigation": "console.sidebar.account_links"},
    "SIDEBAR": {"navigation": "console.sidebar.list_sections", "show_search": True, "command_search": True},
}

WHITENOISE_USE_FINDERS = not PRODUCTION
# Without autorefresh WhiteNoise reads file sizes once at startup, and would cut off files that are edited later.
WHITENOISE_AUTOREFRESH = not PRODUCTION
WHITENOISE_MAX_AGE = 60 if PRODUCTION else 10  # seconds: a page does not ask again for the 30 files of the last one
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- ours -------------------------------------------------------------------------------------------------------------

# Server processes, and threads in each that run calls; half as many more for help, and half as many for pages.
GATEWAY_WORKERS = env.read_number("GATEWAY_WORKERS", default=2, least=1)
GATEWAY_THREADS = env.read_number("GATEWAY_THREADS", default=4, least=1)

# Reverse proxies that append an address to X-Forwarded-For. Like SECURE_PROXY_SSL_HEADER it trusts a header, so local
# mode, which has no proxy, ignores it.
_proxy_count = env.read_number("GATEWAY_PROXY_COUNT", default=1, most=10)
GATEWAY_PROXY_COUNT = _proxy_count if PRODUCTION else 0

GATEWAY_BODY_MAX_BYTES = env.read_number("GATEWAY_BODY_MAX_BYTES", default=1_000_000, least=1_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = max(2_500_000, GATEWAY_BODY_MAX_BYTES)  # Django's limit, which applies to admin forms
# What the rules of data flow do, for clients that do not choose it themselves.
GATEWAY_DATA_FLOW = env.read_choice("GATEWAY_DATA_FLOW", choices=["off", "shadow", "enforce"], default="shadow")
GATEWAY_IDEMPOTENCY_HOURS = env.read_number("GATEWAY_IDEMPOTENCY_HOURS", default=24, least=1, most=env.MAX_HOURS)

# The API client of the keys for applications that users connect (GATEWAY_OAUTH). It is created when first needed.
GATEWAY_OAUTH_CLIENT = env.read_name("GATEWAY_OAUTH_CLIENT", default="mcp")
# Bytes of an uploaded file, and hours that files are stored, which ops return or take.
GATEWAY_FILE_MAX_BYTES = env.read_number("GATEWAY_FILE_MAX_BYTES", default=20_000_000, least=1_000, most=100_000_000)
GATEWAY_FILE_HOURS = env.read_number("GATEWAY_FILE_HOURS", default=24, least=1, most=env.MAX_HOURS)

# Batches: seconds until a batch responds; seconds after which a background batch starts no more entries; hours that its
# results are stored.
GATEWAY_BATCH_SECONDS = env.read_number("GATEWAY_BATCH_SECONDS", default=25, least=1)
GATEWAY_BATCH_BACKGROUND_SECONDS = env.read_number("GATEWAY_BATCH_BACKGROUND_SECONDS", default=3600, least=1)
GATEWAY_BATCH_HOURS = env.read_number("GATEWAY_BATCH_HOURS", default=24, least=1, most=env.MAX_HOURS)

# Non-public networks that outgoing HTTP may call, and the allowed ports of public hosts (core/http/ssrf.py).
GATEWAY_OUTGOING_ALLOW = env_addresses.read_networks("GATEWAY_OUTGOING_ALLOW")
GATEWAY_OUTGOING_PORTS = env_addresses.read_ports("GATEWAY_OUTGOING_PORTS", default="80,443")
# Further networks for the services of connections only. Local mode allows this machine, where such services are tested.
GATEWAY_UPSTREAM_ALLOW = env_addresses.read_networks(
    "GATEWAY_UPSTREAM_ALLOW", default="" if PRODUCTION else "127.0.0.0/8,::1/128"
)

# The only programs that may be started as MCP servers, whatever an administrator enters: {name: command line}.
GATEWAY_MCP_COMMANDS = env.read_commands("GATEWAY_MCP_COMMANDS")

# Tokens of a remote service's answer, above which a read is cut; exec's max_tokens says so for one call.
GATEWAY_RESULT_TOKENS = env.read_number("GATEWAY_RESULT_TOKENS", default=4_000, least=50, most=100_000)

# util.web: non-public networks that URLs from a model may reach, and the search endpoint. The latter is set by the
# administrator, so GATEWAY_OUTGOING_ALLOW applies to it.
WEB_VISIT_ALLOW = env_addresses.read_networks("WEB_VISIT_ALLOW")
WEB_SEARCH_KIND = env.read_choice("WEB_SEARCH_KIND", choices=["searxng", "tavily"], default="searxng")
WEB_SEARCH_URL = env_addresses.read_url("WEB_SEARCH_URL", example="https://search.acme.com/search")

# Search for ops: an endpoint like OpenAI's that turns texts into vectors, and its model. Empty: search without it.
SEARCH_EMBEDDINGS_URL = env_addresses.read_url("SEARCH_EMBEDDINGS_URL", example="https://api.openai.com/v1/embeddings")
SEARCH_EMBEDDINGS_MODEL = env.read_name("SEARCH_EMBEDDINGS_MODEL", default="text-embedding-3-small")

# Spans, by the names that OpenTelemetry gives the variables. Empty endpoint: off.
OTEL_EXPORTER_OTLP_ENDPOINT = env_addresses.read_url(
    "OTEL_EXPORTER_OTLP_ENDPOINT", example="http://collector.acme.com:4318"
)
OTEL_SERVICE_NAME = env.read_name("OTEL_SERVICE_NAME", default="tool-gateway")
OTEL_TRACES_SAMPLER_ARG = env.read_share("OTEL_TRACES_SAMPLER_ARG", default="1")
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = env.read_boolean(
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", default=False
)

# Language models: an endpoint that speaks OpenAI's Chat Completions, its main model, and a fast one for small
# decisions. Prices are in US dollars per million tokens.
LLM_BASE_URL = env_addresses.read_url("LLM_BASE_URL", example="https://api.openai.com/v1")
LLM_MODEL = env.read_name("LLM_MODEL", required_for="LLM_BASE_URL" if LLM_BASE_URL else "")
LLM_FAST_MODEL = env.read_name("LLM_FAST_MODEL")
LLM_REASONING_TOKENS = env.read_number("LLM_REASONING_TOKENS", default=8_000, most=200_000)
LLM_DOLLARS_PER_MILLION_INPUT_TOKENS = env.read_amount("LLM_DOLLARS_PER_MILLION_INPUT_TOKENS", default="0.00")
LLM_DOLLARS_PER_MILLION_OUTPUT_TOKENS = env.read_amount("LLM_DOLLARS_PER_MILLION_OUTPUT_TOKENS", default="0.00")
LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS = env.read_amount("LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS", default="0.00")
LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS = env.read_amount(
    "LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS", default="0.00"
)

# The chat: the gateway that it calls and its key there, the model tier that answers, and the days after which
# conversations are deleted. CHAT_URL is where people find it; /chat/ of the gateway leads there.
CHAT_URL = env_addresses.read_url("CHAT_URL", example="https://chat.acme.com/chat/")
CHAT_GATEWAY_URL = (
    env_addresses.read_url("CHAT_GATEWAY_URL", example="http://web:8000") or "http://127.0.0.1:8000"
).rstrip("/")
CHAT_MODEL_TIER = env.read_choice("CHAT_MODEL_TIER", choices=["fast", "main"], default="fast")
CHAT_DAYS = env.read_number("CHAT_DAYS", default=90, least=1, most=env.MAX_DAYS)
# Origins whose pages may embed the chat's panel. Empty: those of the chat's own origin.
CHAT_FRAME_ANCESTORS = env_addresses.read_origins("CHAT_FRAME_ANCESTORS")

# Master switch of the gateway surface. If off, the surface flag is "legacy" for everyone.
AGENTIC_CHAT_TOOL_GATEWAY = env.read_boolean("AGENTIC_CHAT_TOOL_GATEWAY", default=False)

# Operation events: days that events and turns are stored; the most days that the console may keep args and results.
GATEWAY_EVENT_DAYS = env.read_number("GATEWAY_EVENT_DAYS", default=90, least=1, most=env.MAX_DAYS)
GATEWAY_CONTENT_DAYS = env.read_number("GATEWAY_CONTENT_DAYS", default=30, most=env.MAX_DAYS)
# Where events wait while the database takes none, for this database only, and the most bytes of a process there.
_spool_folder = env.read_folder("GATEWAY_SPOOL_FOLDER", default=VAR_DIR / "spool")
GATEWAY_SPOOL_FOLDER = _spool_folder / env.derive_queue_name(SECRET_KEY, DATABASES["default"]["NAME"])
GATEWAY_SPOOL_MAX_BYTES = env.read_number("GATEWAY_SPOOL_MAX_BYTES", default=500_000_000)

# Releases that a process holds in memory, including the live one.
GATEWAY_RELEASES_KEPT = env.read_number("GATEWAY_RELEASES_KEPT", default=4, least=2)
GATEWAY_SELECTION_TOKENS = env.read_number("GATEWAY_SELECTION_TOKENS", default=2_450, least=500)

# Days that daily figures are stored, and the price of a million input tokens in US dollars.
GATEWAY_FIGURES_DAYS = env.read_number("GATEWAY_FIGURES_DAYS", default=400, least=7, most=env.MAX_DAYS)
GATEWAY_DOLLARS_PER_MILLION_TOKENS = env.read_amount("GATEWAY_DOLLARS_PER_MILLION_TOKENS", default="2.00")

# Percentage points that a release may lose of a hit rate of its eval cases. To lose more, publishing needs a reason.
GATEWAY_EVAL_MARGIN = env.read_number("GATEWAY_EVAL_MARGIN", default=2, most=100)

# Whether publishing needs a second person: people who changed an entry since the live release, or asked for the review,
# need the approval of somebody else.
GATEWAY_REVIEW_REQUIRED = env.read_boolean("GATEWAY_REVIEW_REQUIRED", default=False)

# Bearer token that /metrics requires.
GATEWAY_METRICS_TOKEN = env.read_token("GATEWAY_METRICS_TOKEN", least=env.MIN_SECRET_LENGTH if PRODUCTION else 0)
