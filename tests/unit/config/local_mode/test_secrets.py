"""Secrets of local mode: generated once, and completed if the file is of an older version."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cryptography.fernet import Fernet

from config.local_mode.secrets import load_local_secrets


def test_secrets_are_generated_once(tmp_path: Path) -> None:
    folder = tmp_path / "var"

    secrets = load_local_secrets(folder)

    assert load_local_secrets(folder) == secrets
    assert set(secrets) == {"SECRET_KEY", "GATEWAY_KEY_PEPPER", "GATEWAY_ENCRYPTION_KEYS"}
    assert (folder / "secrets.json").stat().st_mode & 0o777 == 0o600
    Fernet(secrets["GATEWAY_ENCRYPTION_KEYS"])


def test_an_older_file_gets_what_it_lacks_and_keeps_the_rest(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text(json.dumps({"SECRET_KEY": "a", "GATEWAY_KEY_PEPPER": "b"}))

    secrets = load_local_secrets(tmp_path)

    assert (secrets["SECRET_KEY"], secrets["GATEWAY_KEY_PEPPER"]) == ("a", "b")
    assert load_local_secrets(tmp_path) == secrets


def test_processes_that_start_at_once_have_the_same_secrets(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(load_local_secrets, [tmp_path / "var"] * 8))

    assert all(each == results[0] for each in results)
