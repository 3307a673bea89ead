"""server.json, which describes the gateway for the registry of MCP."""

import json
import re
import tomllib
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.urls import resolve

from core.version import VERSION
from gateway.mcp_server import server

DESCRIPTION_LENGTH = 100  # that the registry takes
VARIABLE = re.compile(r"\{(\w+)\}")


@pytest.fixture
def described() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((settings.BASE_DIR / "server.json").read_text())
    return document


def test_version_is_that_of_the_project_and_its_newest_changes(described: dict[str, Any]) -> None:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())
    changes = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\S+), \d{4}-\d{2}-\d{2}$", changes, re.MULTILINE)

    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "core.version.VERSION"}
    assert newest is not None
    assert described["version"] == newest[1] == VERSION
    assert described["title"] == server.TITLE


def test_document_has_what_the_registry_requires(described: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", described["name"])
    assert 1 <= len(described["description"]) <= DESCRIPTION_LENGTH
    assert described["$schema"].endswith("/server.schema.json")


def test_remote_is_the_endpoint_and_every_variable_is_described(described: dict[str, Any]) -> None:
    (remote,) = described["remotes"]

    assert remote["type"] == "streamable-http"
    assert resolve(urlsplit(remote["url"]).path).url_name == "mcp"
    assert set(VARIABLE.findall(remote["url"])) == set(remote["variables"])
    for header in remote["headers"]:
        assert set(VARIABLE.findall(header.get("value", ""))) == set(header.get("variables", {})), header["name"]
    assert next(each for each in remote["headers"] if each["name"] == "Authorization")["isSecret"] is True
