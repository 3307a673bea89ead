"""Every environment variable of the settings is checked when a process starts, and documented in .env.example."""

import ast
import os
import re
import runpy
from decimal import Decimal
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.conf import settings

from config import env
from config.env import InvalidSetting
from tests.support.loops import for_each

ROOT = Path(settings.BASE_DIR)
PRODUCTION = {
    "GATEWAY_ENV": "production",
    "SECRET_KEY": "the secret key of a test, which is long enough",
    "GATEWAY_KEY_PEPPER": "the pepper of a test, which is long enough",
    "ALLOWED_HOSTS": "gateway.example.com",
    "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
}
READ_ELSEWHERE = {"PORT"}  # read by manage.py start
FOR_SERVERS_ONLY = {"PROMETHEUS_MULTIPROC_DIR"}  # docs/deploy.md: in .env it would apply to commands and workers too

# How sentences begin that name an example or the way to a value after "set it to".
DATABASE = "is not a valid URL of PostgreSQL or SQLite"
BROKER = "is not a valid URL of Redis or RabbitMQ"
MAIL = "is not a valid URL of a mail server"
URL = "is not a full URL"
COMMANDS = "is not a JSON object of command lines"
NOT_IN_HEADERS = "has a character that a header cannot hold"
WHOLE, ONE_WORD = "set it to a whole number", "set it to a name without spaces"

# The variable, an invalid value, and how the sentence goes on after the name of the variable.
INVALID = [
    ("GATEWAY_APPS", "chat,no_such_app", "contains 'no_such_app'"),
    ("GATEWAY_ENV", "nonsense", "is 'nonsense'; set it to local or production."),
    ("GATEWAY_ENV", "", "is empty; set it to local or production."),
    ("SECRET_KEY", "", "is not set"),
    ("SECRET_KEY", "hunter2", "is too short; set it to 50 or more random characters"),
    ("GATEWAY_KEY_PEPPER", "", "is not set"),
    ("GATEWAY_KEY_PEPPER", "hunter2", "is too short"),
    ("GATEWAY_ENCRYPTION_KEYS", "hunter2", "has a value that is not a Fernet key"),
    ("GATEWAY_URL", "gateway.acme.com/?key=hunter2", URL),
    ("GATEWAY_REQUIRE_SECOND_FACTOR", "maybe", "is 'maybe'; set it to true or false."),
    ("GATEWAY_SSO_ISSUER", "login.acme.com", URL),
    *[(f"GATEWAY_SSO_CLIENT_{name}", "hunter2\n", NOT_IN_HEADERS) for name in ("ID", "SECRET")],
    ("GATEWAY_SSO_NAME", "a" * 41, f"is '{'a' * 41}'; set it to at most 40 characters, such as Acme."),
    ("GATEWAY_SSO_TRUSTS_EMAIL", "maybe", "is 'maybe'; set it to true or false."),
    ("GATEWAY_OAUTH", "maybe", "is 'maybe'; set it to true or false."),
    ("GATEWAY_OAUTH_CLIENT", "my client", "is 'my client'; set it to a name without spaces, such as mcp."),
    ("GATEWAY_FILE_MAX_BYTES", "20MB", "is '20MB'; set it to a whole number from 1000 to 100000000, such as 20000000."),
    ("GATEWAY_FILE_HOURS", "0", "is '0'; set it to a whole number from 1 to 876000, such as 24."),
    ("ALLOWED_HOSTS", "", "is not set"),
    ("ALLOWED_HOSTS", "https://acme.com", "contains 'https://acme.com'"),
    ("ALLOWED_HOSTS", "acme.com, acme.com:8000", "contains 'acme.com:8000'"),
    ("ALLOWED_HOSTS", "*.acme.com", "contains '*.acme.com'"),
    ("ALLOWED_HOSTS", "acme.com b.com", "contains 'acme.com b.com'"),
    ("ALLOWED_HOSTS", "[::g]", "contains '[::g]'"),
    ("CSRF_TRUSTED_ORIGINS", "acme.com", "contains 'acme.com'"),
    ("CSRF_TRUSTED_ORIGINS", "https://acme.com/", "contains 'https://acme.com/'"),
    ("CSRF_TRUSTED_ORIGINS", "https://acme.com:port", "contains 'https://acme.com:port'"),
    ("DATABASE_URL", "", "is not set; set it to the database that all processes share: "),
    ("DATABASE_URL", "hunter2", DATABASE),
    ("DATABASE_URL", "mysql://user:hunter2@host/name", DATABASE),
    ("DATABASE_URL", "postgres://user:hunter2@host", DATABASE),
    ("DATABASE_URL", "postgres://user:hunter2@host:99999/name", DATABASE),
    ("DATABASE_URL", "postgres://user:hunter/2@host/name", DATABASE),
    ("DATABASE_URL", "postgres://user:123/hunter2@host/name", DATABASE),
    ("DATABASE_URL", "postgres://user:hunter2@[::1/name", DATABASE),
    ("DATABASE_URL", "sqlite://path/to/file", DATABASE),
    ("GATEWAY_DB_POOL_SIZE", "1", "is '1'; set it to a whole number from 2 to 2147483647, such as 20."),
    ("GATEWAY_STATEMENT_TIMEOUT_MS", "30s", f"is '30s'; {WHOLE} from 100 to 2147483647, such as 30000."),
    ("GATEWAY_WORKERS", "0", "is '0'; set it to a whole number from 1 to 2147483647, such as 2."),
    ("GATEWAY_THREADS", "four", "is 'four'; set it to a whole number from 1 to 2147483647, such as 4."),
    ("GATEWAY_BODY_MAX_BYTES", "abc", "is 'abc'; set it to a whole number from 1000 to 2147483647, such as 1000000."),
    ("GATEWAY_DATA_FLOW", "on", "is 'on'; set it to off, shadow or enforce."),
    ("GATEWAY_IDEMPOTENCY_HOURS", "-1", "is '-1'; set it to a whole number from 1 to 876000, such as 24."),
    ("CELERY_BROKER_URL", "hunter2", BROKER),
    ("CELERY_BROKER_URL", "redis://:hunter2@", BROKER),
    ("CELERY_BROKER_URL", "redis://:hunter2@host:port/0", BROKER),
    ("CELERY_BROKER_URL", "redis://:hunter2@host/first", BROKER),
    ("CELERY_BROKER_URL", "amqp://user:12/hunter2@host//", BROKER),
    ("CELERY_BROKER_URL", "amqp://user#hunter2@host//", BROKER),
    ("CELERY_BROKER_URL", "amqp://host//;kafka://user:hunter2@host", BROKER),
    ("GATEWAY_BATCH_THREADS", "0", "is '0'; set it to a whole number from 1 to 2147483647, such as 8."),
    ("GATEWAY_BATCH_SECONDS", "2.5", "is '2.5'; set it to a whole number from 1 to 2147483647, such as 25."),
    ("GATEWAY_BATCH_BACKGROUND_SECONDS", "1h", "is '1h'; set it to a whole number from 1 to 2147483647, such as 3600."),
    ("GATEWAY_BATCH_HOURS", "876001", "is '876001'; set it to a whole number from 1 to 876000, such as 24."),
    ("CHAT_URL", "chat.acme.com/?key=hunter2", URL),
    ("CHAT_GATEWAY_URL", "web:8000/?key=hunter2", URL),
    ("CHAT_GATEWAY_KEY", "hunter2\n", NOT_IN_HEADERS),
    ("CHAT_MODEL_TIER", "best", "is 'best'; set it to fast or main."),
    ("CHAT_FRAME_ANCESTORS", "acme.com", "contains 'acme.com'"),
    ("CHAT_DAYS", "0", "is '0'; set it to a whole number from 1 to 36500, such as 90."),
    ("GATEWAY_FIGURES_DAYS", "6", "is '6'; set it to a whole number from 7 to 36500, such as 400."),
    ("EMAIL_URL", "mail.acme.com", MAIL),
    ("EMAIL_URL", "smtp://user:hunter2@", MAIL),
    ("EMAIL_URL", "smtp://user:hunter2@host:port", MAIL),
    ("EMAIL_URL", "pigeon://user:hunter2@host", MAIL),
    ("EMAIL_FROM", "The gateway", "is 'The gateway'; set it to a name without spaces, such as gateway@localhost."),
    ("GATEWAY_NOTIFY_URL", "hooks.acme.com/?key=hunter2", URL),
    ("GATEWAY_NOTIFY_CHAT_URL", "hooks.slack.com/hunter2", URL),
    ("GATEWAY_NOTIFY_SECRET", "hunter2", "is not a secret of 24 or more bytes"),
    ("GATEWAY_NOTIFY_SECRET", "whsec_aHVudGVyMg==", "is not a secret of 24 or more bytes"),
    ("GATEWAY_REVIEW_REQUIRED", "maybe", "is 'maybe'; set it to true or false."),
    ("GATEWAY_EVAL_MARGIN", "101", "is '101'; set it to a whole number from 0 to 100, such as 2."),
    ("GATEWAY_DOLLARS_PER_MILLION_TOKENS", "2,50", "is '2,50'; set it to an amount such as 2.00."),
    ("GATEWAY_OUTGOING_ALLOW", "10.0.0.0/99", "contains '10.0.0.0/99'"),
    ("GATEWAY_OUTGOING_ALLOW", "0.0.0.0/0", "contains '0.0.0.0/0', which is every address"),
    ("GATEWAY_RESULT_TOKENS", "10", "is '10'; set it to a whole number from 50 to 100000, such as 4000."),
    ("GATEWAY_MCP_COMMANDS", "npx server", COMMANDS),
    ("GATEWAY_MCP_COMMANDS", '{"files": ""}', COMMANDS),
    ("GATEWAY_UPSTREAM_ALLOW", "intranet", "contains 'intranet'"),
    ("WEB_VISIT_ALLOW", "intranet", "contains 'intranet'"),
    ("GATEWAY_OUTGOING_PORTS", "80,a", "contains 'a'"),
    ("GATEWAY_OUTGOING_PORTS", "99999", "contains '99999'"),
    ("WEB_SEARCH_KIND", "google", "is 'google'; set it to searxng or tavily."),
    ("WEB_SEARCH_URL", "search.acme.com?key=hunter2", URL),
    ("WEB_SEARCH_KEY", "hunter2\n", NOT_IN_HEADERS),
    ("SEARCH_EMBEDDINGS_URL", "localhost:8080/v1?key=hunter2", URL),
    ("SEARCH_EMBEDDINGS_KEY", "hunter2\n", NOT_IN_HEADERS),
    ("SEARCH_EMBEDDINGS_MODEL", "a model", f"is 'a model'; {ONE_WORD}, such as text-embedding-3-small."),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318?key=hunter2", URL),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "hunter2",
        "is not a list of headers; set it to name=value, with commas between them.",
    ),
    ("OTEL_SERVICE_NAME", "a name", f"is 'a name'; {ONE_WORD}, such as tool-gateway."),
    ("OTEL_TRACES_SAMPLER_ARG", "5", "is '5'; set it to a share from 0 to 1, such as 0.05."),
    ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "maybe", "is 'maybe'; set it to true or false."),
    ("LLM_BASE_URL", "localhost:8080/v1?key=hunter2", URL),
    ("LLM_API_KEY", "hunter2\n", NOT_IN_HEADERS),
    ("LLM_MODEL", "a model", "is 'a model'; set it to a name without spaces, such as gpt-5."),
    ("LLM_REASONING_TOKENS", "-1", "is '-1'; set it to a whole number from 0 to 200000, such as 8000."),
    ("LLM_FAST_MODEL", "a model", "is 'a model'; set it to a name without spaces, such as gpt-5."),
    *[
        (f"LLM_{tier}DOLLARS_PER_MILLION_{direction}_TOKENS", "2,50", "is '2,50'; set it to an amount such as 0.00.")
        for tier in ("", "FAST_")
        for direction in ("INPUT", "OUTPUT")
    ],
    ("SECURE_SSL_REDIRECT", "maybe", "is 'maybe'; set it to true or false."),
    ("SECURE_HSTS_SECONDS", "1 year", "is '1 year'; set it to a whole number from 0 to 2147483647, such as 31536000."),
    ("GATEWAY_PROXY_COUNT", "yes", "is 'yes'; set it to a whole number from 0 to 10, such as 1."),
    ("GATEWAY_EVENT_DAYS", "9" * 5000, f"is '{'9' * 80}…'; set it to a whole number from 1 to 36500, such as 90."),
    ("GATEWAY_CONTENT_DAYS", "٣", "is '٣'; set it to a whole number from 0 to 36500, such as 30."),
    ("GATEWAY_SPOOL_FOLDER", "/dev/null/spool", "is '/dev/null/spool', which cannot be made (Not a directory)"),
    ("GATEWAY_SPOOL_MAX_BYTES", "1GB", "is '1GB'; set it to a whole number from 0 to 2147483647, such as 500000000."),
    ("GATEWAY_SELECTION_TOKENS", "9", "is '9'; set it to a whole number from 500 to 2147483647, such as 2450."),
    ("GATEWAY_RELEASES_KEPT", "1", "is '1'; set it to a whole number from 2 to 2147483647, such as 4."),
    ("AGENTIC_CHAT_TOOL_GATEWAY", "enabled", "is 'enabled'; set it to true or false."),
    ("GATEWAY_METRICS_TOKEN", "hunter2", "is too short; set it to 32 or more random characters"),
    ("LOG_LEVEL", "loud", "is 'loud'; set it to DEBUG, INFO, WARNING, ERROR or CRITICAL."),
    ("PROMETHEUS_MULTIPROC_DIR", "/dev/null/metrics", "is '/dev/null/metrics', which cannot be made (Not a directory)"),
]

# The variable, a valid value, and the settings that it sets.
VALID: list[tuple[str, str, dict[str, Any]]] = [
    ("GATEWAY_ENV", "Production", {"PRODUCTION": True}),
    ("ALLOWED_HOSTS", " a.example.com, B.example.com ", {"ALLOWED_HOSTS": ["a.example.com", "B.example.com"]}),
    ("ALLOWED_HOSTS", "*,.acme.com,10.1.2.3,[::1]", {"ALLOWED_HOSTS": ["*", ".acme.com", "10.1.2.3", "[::1]"]}),
    (
        "CSRF_TRUSTED_ORIGINS",
        "https://acme.com:8443,https://*.acme.com,http://[::1]:80",
        {"CSRF_TRUSTED_ORIGINS": ["https://acme.com:8443", "https://*.acme.com", "http://[::1]:80"]},
    ),
    ("CELERY_BROKER_URL", "", {"CELERY_BROKER_URL": "memory://localhost/", "EMBEDDED_BROKER": True}),
    *[
        ("CELERY_BROKER_URL", url, {"CELERY_BROKER_URL": url, "EMBEDDED_BROKER": False})
        for url in (
            "redis://127.0.0.1:6379/0",
            "redis+socket:///run/redis.sock",
            "sentinel://a:26379;sentinel://b:26379",
            "amqps://user:p%40ss@host/vhost",
        )
    ],
    *[("SECURE_SSL_REDIRECT", text, {"SECURE_SSL_REDIRECT": True}) for text in ("", "1", "true", "YES", "On", " on ")],
    *[("SECURE_SSL_REDIRECT", text, {"SECURE_SSL_REDIRECT": False}) for text in ("0", "false", "No", "OFF")],
    ("AGENTIC_CHAT_TOOL_GATEWAY", "", {"AGENTIC_CHAT_TOOL_GATEWAY": False}),
    ("GATEWAY_ENCRYPTION_KEYS", "", {"GATEWAY_ENCRYPTION_KEYS": []}),
    (
        "GATEWAY_ENCRYPTION_KEYS",
        f"{'a' * 42}A=, {'b' * 42}E=",
        {"GATEWAY_ENCRYPTION_KEYS": ["a" * 42 + "A=", "b" * 42 + "E="]},
    ),
    ("GATEWAY_URL", "https://gateway.acme.com/", {"GATEWAY_URL": "https://gateway.acme.com"}),
    ("EMAIL_URL", "", {"GATEWAY_SENDS_EMAIL": False, "EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}),
    (
        "EMAIL_URL",
        "smtp+tls://me:p%40ss@mail.acme.com:587",
        {
            "GATEWAY_SENDS_EMAIL": True,
            "EMAIL_HOST": "mail.acme.com",
            "EMAIL_PORT": 587,
            "EMAIL_HOST_USER": "me",
            "EMAIL_HOST_PASSWORD": "p@ss",
            "EMAIL_USE_TLS": True,
        },
    ),
    ("GATEWAY_PROXY_COUNT", "2", {"GATEWAY_PROXY_COUNT": 2}),
    ("GATEWAY_EVENT_DAYS", " 7 ", {"GATEWAY_EVENT_DAYS": 7}),
    ("GATEWAY_EVENT_DAYS", "", {"GATEWAY_EVENT_DAYS": 90}),
    ("GATEWAY_DOLLARS_PER_MILLION_TOKENS", "0.25", {"GATEWAY_DOLLARS_PER_MILLION_TOKENS": Decimal("0.25")}),
    (
        "GATEWAY_OUTGOING_ALLOW",
        "10.0.0.0/8, fd00:1::/64,127.0.0.1",
        {"GATEWAY_OUTGOING_ALLOW": [ip_network("10.0.0.0/8"), ip_network("fd00:1::/64"), ip_network("127.0.0.1")]},
    ),
    ("GATEWAY_UPSTREAM_ALLOW", "10.1.0.0/16", {"GATEWAY_UPSTREAM_ALLOW": [ip_network("10.1.0.0/16")]}),
    ("GATEWAY_MCP_COMMANDS", "", {"GATEWAY_MCP_COMMANDS": {}}),
    (
        "GATEWAY_MCP_COMMANDS",
        '{"files": "server --folder \'my files\'"}',
        {"GATEWAY_MCP_COMMANDS": {"files": ["server", "--folder", "my files"]}},
    ),
    ("GATEWAY_UPSTREAM_ALLOW", "", {"GATEWAY_UPSTREAM_ALLOW": []}),
    ("GATEWAY_OUTGOING_PORTS", "80, 8443", {"GATEWAY_OUTGOING_PORTS": [80, 8443]}),
    ("GATEWAY_OUTGOING_PORTS", "", {"GATEWAY_OUTGOING_PORTS": []}),
    ("WEB_SEARCH_KIND", "", {"WEB_SEARCH_KIND": "searxng"}),
    ("SEARCH_EMBEDDINGS_MODEL", "BAAI/bge-small-en", {"SEARCH_EMBEDDINGS_MODEL": "BAAI/bge-small-en"}),
]

# A value of DATABASE_URL, and some settings of the database.
DATABASES = [
    ("postgres://me:p%40ss%2F@host:5433/name", {"PASSWORD": "p@ss/", "HOST": "host", "PORT": 5433, "NAME": "name"}),
    ("postgresql://me:p#ss@host/name", {"PASSWORD": "p#ss", "HOST": "host", "NAME": "name"}),
    ("postgresql://postgres:@/name?host=/tmp/socket", {"HOST": "", "NAME": "name"}),
    ("sqlite:////var/lib/gateway.sqlite3", {"NAME": "/var/lib/gateway.sqlite3"}),
    ("sqlite://:memory:", {"NAME": ":memory:"}),
]


def read_settings(variables: dict[str, str]) -> dict[str, Any]:
    """Return the names that config/settings.py defines in an environment of these variables, without .env."""
    with mock.patch.dict(os.environ, variables, clear=True), mock.patch.object(env, "load_env_file"):
        return runpy.run_path(str(Path(settings.BASE_DIR) / "config" / "settings.py"))


def find_variables_in_settings() -> set[str]:
    """Return the first argument of each call of a function that reads a variable, of one of the two modules for it."""
    return {
        ast.literal_eval(call.args[0])
        for call in ast.walk(ast.parse((ROOT / "config/settings.py").read_text()))
        if isinstance(call, ast.Call) and re.fullmatch(r"env(_addresses)?\.(read|make)_\w+", ast.unparse(call.func))
    }


def test_env_example_lists_every_variable_and_no_other() -> None:
    listed = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))

    assert listed == find_variables_in_settings() - FOR_SERVERS_ONLY | READ_ELSEWHERE


def test_env_example_describes_each_variable() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    assert [
        line for previous, line in pairwise(lines) if "=" in line and not line.startswith("#") and previous[:1] != "#"
    ] == []


def test_env_example_shows_the_defaults() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    defaults = read_settings({})

    for line in lines:
        if line and not line.startswith("#") and not line.endswith("="):
            changed = read_settings(dict([line.split("=", 1)]))
            differing = {name for name in defaults if name.isupper() and changed[name] != defaults[name]}
            assert (line, differing) == (line, set())


def test_no_module_reads_variables_around_the_functions_that_check_them() -> None:
    reads = {
        f"{path.name}: {ast.unparse(node)}"
        for folder in ("", "chat/", "local_mode/")
        for path in (ROOT / "config").glob(f"{folder}*.py")
        if path.name not in ("env.py", "env_addresses.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import | ast.ImportFrom) and re.search(r"\b(?<!\.)environ\b", ast.unparse(node)))
        or (isinstance(node, ast.Attribute) and re.match(r"os\.(environ|getenv)", ast.unparse(node)))
    }

    assert reads == {
        *(f"{name}: os.environ{end}" for name in ("settings.py", "celery.py") for end in ("", ".setdefault")),  # writes
        "asgi.py: os.environ",  # writes
        "serve.py: os.environ",  # writes
        *(f"lifeline.py: os.environ{end}" for end in ("", ".pop")),  # what manage.py start hands to the other servers
        *(f"{name}: os.environ" for name in ("serve_shop.py", "welcome.py")),  # likewise
        "addresses.py: import environ",  # its parser of database URLs
    }


def test_sign_in_needs_the_address_of_the_gateway() -> None:
    with pytest.raises(InvalidSetting) as error:
        read_settings(PRODUCTION | {"GATEWAY_OAUTH": "on"})

    sentence = "is not set, but GATEWAY_OAUTH is on; set it to a full URL, such as https://gateway.acme.com."
    assert str(error.value) == f"GATEWAY_URL {sentence}"

    with pytest.raises(InvalidSetting, match="GATEWAY_URL has a path, but GATEWAY_OAUTH is on;"):
        read_settings(PRODUCTION | {"GATEWAY_OAUTH": "on", "GATEWAY_URL": "https://acme.com/gateway"})


def test_webhook_needs_its_secret() -> None:
    with pytest.raises(
        InvalidSetting, match=r"^GATEWAY_NOTIFY_SECRET is not set, but GATEWAY_NOTIFY_URL is; set it to "
    ):
        read_settings(PRODUCTION | {"GATEWAY_NOTIFY_URL": "https://hooks.acme.com/"})


def test_every_variable_has_an_invalid_value_in_this_test() -> None:
    assert {name for name, _, _ in INVALID} == find_variables_in_settings()


@for_each("name, value, sentence", INVALID)
def test_settings_name_the_invalid_variable(name: str, value: str, sentence: str) -> None:
    is_for_production = sentence.startswith(("is not set", "is too short"))
    for others in (PRODUCTION,) if is_for_production else (PRODUCTION, {}):
        with pytest.raises(InvalidSetting) as error:
            read_settings(others | {name: value})

        assert str(error.value).startswith(f"{name} {sentence}")
        assert "; set it to " in str(error.value)
        assert "hunter2" not in str(error.value)
        assert error.value.__suppress_context__ or error.value.__context__ is None  # which may show the value


@pytest.mark.parametrize("name", ["SECRET_KEY", "GATEWAY_KEY_PEPPER", "ALLOWED_HOSTS", "DATABASE_URL"])
def test_production_requires_a_variable(name: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{name} is not set; set it to "):
        read_settings({key: value for key, value in PRODUCTION.items() if key != name})


def test_production_signs_people_in_over_https_only() -> None:
    issuer = {"GATEWAY_SSO_ISSUER": "http://login.acme.com"}

    with pytest.raises(InvalidSetting) as error:
        read_settings(PRODUCTION | issuer)

    sentence = (
        "GATEWAY_SSO_ISSUER is not encrypted; set it to one that begins with https://, such as https://login.acme.com."
    )
    assert str(error.value) == sentence
    assert read_settings(issuer)["GATEWAY_SSO_ISSUER"] == "http://login.acme.com"


def test_an_endpoint_of_language_models_requires_a_model() -> None:
    endpoint = {"LLM_BASE_URL": "https://llm.acme.com/v1"}

    with pytest.raises(InvalidSetting) as error:
        read_settings(endpoint)

    assert str(error.value) == "LLM_MODEL is not set, but LLM_BASE_URL is; set it to the name of one of its models."
    assert read_settings(endpoint | {"LLM_MODEL": "big"})["LLM_MODEL"] == "big"


def test_local_mode_requires_no_variable() -> None:
    defaults = read_settings({})

    assert defaults["DATABASES"]["default"]["NAME"] == str(ROOT / "var" / "db.sqlite3")
    assert defaults["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert defaults["GATEWAY_UPSTREAM_ALLOW"] == [ip_network("127.0.0.0/8"), ip_network("::1/128")]


@for_each("name, value, expected", VALID)
def test_settings_accept_valid_values(name: str, value: str, expected: dict[str, Any]) -> None:
    values = read_settings(PRODUCTION | {name: value})

    assert {each: values[each] for each in expected} == expected


def test_local_mode_trusts_no_proxy() -> None:
    assert read_settings({"GATEWAY_PROXY_COUNT": "2"})["GATEWAY_PROXY_COUNT"] == 0


@for_each("url, expected", DATABASES)
def test_settings_accept_database_urls(url: str, expected: dict[str, Any]) -> None:
    database = read_settings(PRODUCTION | {"DATABASE_URL": url})["DATABASES"]["default"]

    assert {each: database[each] for each in expected} == expected


@for_each("text, level", [("debug", "DEBUG"), ("", "INFO"), ("CRITICAL", "CRITICAL")])
def test_settings_accept_log_levels(text: str, level: str) -> None:
    assert read_settings(PRODUCTION | {"LOG_LEVEL": text})["LOGGING"]["root"]["level"] == level


def test_secrets_keep_their_characters() -> None:
    secret = " $a secret that begins with a space and a dollar sign "

    assert read_settings(PRODUCTION | {"SECRET_KEY": secret})["SECRET_KEY"] == secret


def test_installations_have_different_queues() -> None:
    def get_queue(**variables: str) -> str:
        queue: str = read_settings(PRODUCTION | variables)["CELERY_TASK_DEFAULT_QUEUE"]
        return queue

    other_secret = "the secret key of another installation"
    other_database = "postgres://nobody@127.0.0.1:1/other"

    assert len({get_queue(), get_queue(SECRET_KEY=other_secret), get_queue(DATABASE_URL=other_database)}) == 3
    assert get_queue() == get_queue(DATABASE_URL="postgres://somebody@pool.acme.com:6432/none")  # the same database


def test_passwords_of_all_brokers_are_redacted_in_logs() -> None:
    values = read_settings(PRODUCTION | {"CELERY_BROKER_URL": "sentinel://:first@a;sentinel://:second@b"})

    assert {"first", "second"} <= set(values["LOGGING"]["formatters"]["line"]["secrets"])
