"""GATEWAY_ENV=production starts with what it was told, or says what it was not told."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from django.conf import settings

from tests.support.servers.processes import Server
from tests.support.servers.production import VALID_VARIABLES, run_manage

pytestmark = pytest.mark.server


def test_production_passes_the_deployment_checks_without_a_warning() -> None:
    checked = run_manage("check", "--deploy", "--fail-level", "WARNING", **VALID_VARIABLES)

    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout


# Runs `manage.py check` once for each environment on its standard input: Django's modules are loaded once for all.
CHECK_EACH = """
import io, json, os, sys
from contextlib import redirect_stderr
import django.core.management, django.contrib.admin, django.core.checks, rest_framework.settings, environ

for number, variables in enumerate(json.load(sys.stdin)):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(variables, DJANGO_SETTINGS_MODULE="config.settings")
        code, errors = 0, io.StringIO()
        with redirect_stderr(errors):
            try:
                django.core.management.execute_from_command_line(["manage.py", "check"])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException as error:
                code = 1
                errors.write(str(error))
        print(json.dumps([code, errors.getvalue()]))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


def run_refused_checks(environments: list[dict[str, str]]) -> list[str]:
    """Return the last line of `manage.py check` in each environment. It must refuse all of them."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK_EACH],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"]},
        input=json.dumps([{"PATH": os.environ["PATH"], **each} for each in environments]),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(results) == len(environments), done.stdout
    for environment, (code, errors) in zip(environments, results, strict=True):
        assert code != 0, environment
        assert errors.strip(), environment
    return [errors.strip().splitlines()[-1] for _, errors in results]


def test_production_refuses_to_start_without_required_variables() -> None:
    names = ["SECRET_KEY", "GATEWAY_KEY_PEPPER", "ALLOWED_HOSTS", "DATABASE_URL"]
    unset = [{key: VALID_VARIABLES[key] for key in VALID_VARIABLES if key != name} for name in names]
    empty = [{**VALID_VARIABLES, name: ""} for name in names]

    for name, last in zip(names * 2, run_refused_checks([*unset, *empty]), strict=True):
        assert f"{name} is not set" in last, name
        assert "set it to" in last.lower(), name

    refused = run_manage("check", **unset[0])  # the real command, once
    assert refused.returncode != 0
    assert "SECRET_KEY is not set" in refused.stderr.strip().splitlines()[-1]


WRONG = [
    ("GATEWAY_METRICS_TOKEN", "short"),
    ("GATEWAY_DB_POOL_SIZE", "0"),
    ("GATEWAY_IDEMPOTENCY_HOURS", "-1"),
    ("GATEWAY_BODY_MAX_BYTES", "abc"),
    ("GATEWAY_OUTGOING_PORTS", "a"),
    ("GATEWAY_OUTGOING_PORTS", "99999"),
    ("GATEWAY_OUTGOING_ALLOW", "10.0.0.0/99"),
    ("WEB_VISIT_ALLOW", "intranet"),
    ("WEB_SEARCH_KIND", "google"),
    ("WEB_SEARCH_URL", "search.acme.com"),
    ("GATEWAY_FIGURES_DAYS", "6"),
    ("GATEWAY_DOLLARS_PER_MILLION_TOKENS", "2,50"),
    ("ALLOWED_HOSTS", " , "),
]


def test_production_names_the_invalid_variable() -> None:
    good = {**VALID_VARIABLES, "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}

    for (name, value), last in zip(
        WRONG, run_refused_checks([good | {name: value} for name, value in WRONG]), strict=True
    ):
        assert name in last, (name, value)
        assert "set it to" in last.lower(), (name, value)


def test_list_variables_may_contain_spaces() -> None:
    variables = {**VALID_VARIABLES, "ALLOWED_HOSTS": "a.example.com, b.example.com"}

    result = run_manage("shell", "-c", "from django.conf import settings; print(settings.ALLOWED_HOSTS)", **variables)

    assert "['a.example.com', 'b.example.com']" in result.stdout


def test_settings_refuse_an_unknown_environment() -> None:
    refused = run_manage("check", **{**VALID_VARIABLES, "GATEWAY_ENV": "nonsense"})

    assert refused.returncode != 0
    assert "GATEWAY_ENV is 'nonsense'; set it to local or production." in refused.stderr


def test_production_has_no_start_command() -> None:
    refused = run_manage("start", **VALID_VARIABLES)

    assert refused.returncode == 1
    assert "start is for local use only" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_production_serves_behind_a_tls_proxy(serve: Callable[..., Server]) -> None:
    server = serve(GATEWAY_ENV="production", ALLOWED_HOSTS="127.0.0.1", SECURE_SSL_REDIRECT="false")

    with server.client(headers={**server.headers, "X-Forwarded-Proto": "https"}) as http:
        response = http.get("/api/v1/help")
        login = http.get("/admin/", follow_redirects=False)

    assert response.status_code == 200
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload"
    assert login.status_code == 302
