"""Suggestions for the ops of connected services, from the live release of the gateway."""

from typing import Any

from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable

OWN_GROUPS = ("onto", "cal", "util", "x")  # of the workspace and of the gateway itself
MAX_SERVICES = 8
MAX_TEXT = 120  # characters
_last: tuple[tuple[str, str], list[dict[str, str]]] = ("", ""), []  # by version, which never changes, and API key


def list_service_suggestions(credentials: Credentials) -> list[dict[str, str]]:
    """Return {title, text}, one of each connected service; none if the gateway does not say what it has."""
    global _last
    client = GatewayClient(credentials)
    try:
        releases = client.fetch("releases")["results"]
        version = next((release["version"] for release in releases if release["live"]), "")
        if version and _last[0] != (version, credentials.key):
            ops = client.fetch(f"releases/{version}")["ops"]
            _last = (version, credentials.key), build_suggestions(ops)
    except (GatewayRefused, GatewayUnavailable):
        return []
    return _last[1] if version else []


def build_suggestions(ops: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return a suggestion for the first list of each service: its summary is what a person would write."""
    found: dict[str, dict[str, str]] = {}
    for op in ops:
        service, leaf = op["op"].partition(".")[0], op["op"].rpartition(".")[2]
        is_list = op["kind"] == "read" and op["status"] == "active" and leaf.startswith("list")
        if is_list and service not in OWN_GROUPS and len(op["summary"]) <= MAX_TEXT:
            title = service.replace("_", " ").capitalize()
            found.setdefault(service, {"title": title, "text": op["summary"].rstrip(".")})
    return list(found.values())[:MAX_SERVICES]
