"""Processes with GATEWAY_ENV=production start, or say which setting is invalid (tests/unit/config has them all)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.servers.processes import Server
from tests.support.servers.production import VALID_VARIABLES, run_manage, run_python

pytestmark = pytest.mark.server


def test_production_passes_the_deployment_checks_without_a_warning() -> None:
    checked = run_manage("check", "--deploy", "--fail-level", "WARNING", **VALID_VARIABLES)

    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout


COMMANDS = {
    "manage.py": ["manage.py", "check"],
    "server": ["-m", "config.serve"],
    "worker": ["-m", "celery", "-A", "config.celery", "worker"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_invalid_setting_ends_a_process_with_one_sentence(command: list[str]) -> None:
    refused = run_python(*command, **VALID_VARIABLES, SECURE_SSL_REDIRECT="maybe")

    assert refused.stderr == "SECURE_SSL_REDIRECT is 'maybe'; set it to true or false.\n"
    assert refused.stdout == ""
    assert refused.returncode == 1


def test_folder_of_metrics_that_cannot_be_made_ends_the_server_with_one_sentence() -> None:
    refused = run_python(*COMMANDS["server"], **VALID_VARIABLES, PROMETHEUS_MULTIPROC_DIR="/dev/null/metrics")

    assert refused.stderr.startswith("PROMETHEUS_MULTIPROC_DIR is '/dev/null/metrics', which cannot be made (")
    assert len(refused.stderr.splitlines()) == 1
    assert refused.returncode == 1


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("sqlite:///{folder}/empty.sqlite3", "The database lacks tables or columns of this version. Run: "),
        ("postgres://user:hunter2@127.0.0.1:1/name", "The database cannot be used; see DATABASE_URL. connection "),
    ],
)
def test_command_says_in_one_line_what_the_database_lacks(url: str, sentence: str, tmp_path: Path) -> None:
    refused = run_manage("load_catalog", "--publish", **VALID_VARIABLES | {"DATABASE_URL": url.format(folder=tmp_path)})

    assert refused.stderr.startswith(sentence)
    assert len(refused.stderr.splitlines()) == 1
    assert "hunter2" not in refused.stderr
    assert refused.returncode == 1


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
