"""Environment variables of server processes, and keys for their API."""

import os
from pathlib import Path
from typing import Any

from gateway.access import api_keys
from gateway.models import Client
from tests.support.servers.stores import Store
from workspace.demo import DEMO_SUBJECT

PEPPER = "the pepper of the test servers, which is long enough"
SECRETS = {"SECRET_KEY": "the secret key of the test servers, which is long enough", "GATEWAY_KEY_PEPPER": PEPPER}


def build_environment(store: Store, folder: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a process that uses a database. Its files go into the folder."""
    return {
        **os.environ,
        **SECRETS,
        "DATABASE_URL": store.url,
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
        "GATEWAY_SPOOL_FOLDER": str(folder / "spool"),
        "DJANGO_SETTINGS_MODULE": "tests.support.servers.probe_settings",
        "AGENTIC_CHAT_TOOL_GATEWAY": "on",  # as make run sets it
        **variables,
    }


def make_key(**fields: Any) -> str:
    """Issue a key of the client "tests" and return it."""
    client, _ = Client.objects.get_or_create(name="tests")
    _, plaintext = api_keys.issue(client=client, by="tests", **{"subject": DEMO_SUBJECT, "rate": 100_000, **fields})
    return plaintext
