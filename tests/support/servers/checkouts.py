"""A separate checkout for `manage.py start`: a copy of the code, an empty var/, an empty environment."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

from tests.support.servers.processes import (
    PLAIN_HTTP,
    STARTS_WITHIN,
    WORKERS,
    Process,
    Server,
    eventually,
    free_port,
    submit_sign_in,
    wait_until_ready,
)
from tests.support.servers.production import run_python

NOT_COPIED = (".*", "var", "tests", "benchmarks")


@dataclass
class Checkout:
    """A folder with a copy of the code, and variables for its commands in addition to PATH and PORT."""

    folder: Path
    variables: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self.variables}

    @property
    def dev_env(self) -> dict[str, str]:
        """Return the variables in var/dev.env."""
        lines = (self.folder / "var" / "dev.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def command(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a manage.py command until it ends."""
        return run_python("manage.py", *arguments, folder=self.folder, **self.variables | variables)

    def evaluate(self, expression: str, *, first: str = "pass") -> Any:
        """Evaluate a Python expression with manage.py shell after some statements, and return its JSON value."""
        code = f"{first}\nimport json\nprint(json.dumps({expression}))"
        done = self.command("shell", "-c", code)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def running(self, port: int | None = None) -> Iterator[Server]:
        """Run manage.py start until it serves, and stop it afterwards like Ctrl-C."""
        port = port or free_port()
        command = [sys.executable, "manage.py", "start"]
        process = Process(command, environment={**self.environment, "PORT": str(port)}, folder=self.folder)
        try:
            wait_until_ready(process, f"http://127.0.0.1:{port}")
            # One ready worker answers, and the other may still be loading. Wait until each has logged its release, and
            # until the addresses are printed.
            eventually(
                lambda: (
                    process.output.partition("Starting the servers.")[2].count("release.live ") == WORKERS
                    and "Press Ctrl-C" in process.output
                ),
                within=STARTS_WITHIN,
            )
            yield Server(port, process, self.dev_env["GATEWAY_API_KEY"])
            assert process.stop(signal.SIGINT) == 0
        finally:
            process.kill()
            print(process.output)  # pytest shows it with a failure


def copy_checkout(to: Path, **variables: str) -> Checkout:
    """Copy the working tree of this checkout."""
    shutil.copytree(settings.BASE_DIR, to, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return Checkout(to, variables)


def copy_started_checkout(checkout: Checkout, to: Path) -> Checkout:
    """Copy a checkout with its var/, for example one that was started before."""
    shutil.copytree(checkout.folder, to)
    return Checkout(to, dict(checkout.variables))


def can_log_in(server: Server, name: str, password: str) -> bool:
    with httpx2.Client(base_url=server.url, **PLAIN_HTTP) as http:
        submit_sign_in(http, name, password)
        return http.get("/admin/registry/op/").status_code == 200
