"""docs/reference/settings.md: every environment variable, from config/settings.py and .env.example.

The type and the limits of a variable come from the call that reads it, its default and meaning from .env.example.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from config import env, env_addresses

# What each function of config/env.py and config/env_addresses.py that reads a variable accepts.
TYPES = {
    env.read_amount.__name__: "amount",
    env.read_apps.__name__: "list of apps",
    env.read_boolean.__name__: "on or off",
    env_addresses.read_broker_url.__name__: "URL of a broker",
    env.read_choice.__name__: "choice",
    env.read_commands.__name__: "JSON object",
    env_addresses.read_database.__name__: "URL of a database",
    env_addresses.read_email_url.__name__: "URL of a mail server",
    env.read_encryption_keys.__name__: "list of Fernet keys",
    env.read_environment.__name__: "local or production",
    env_addresses.read_hosts.__name__: "list of host names",
    env.read_label.__name__: "text",
    env.read_name.__name__: "name",
    env_addresses.read_networks.__name__: "list of networks",
    env.read_number.__name__: "number",
    env_addresses.read_origins.__name__: "list of origins",
    env_addresses.read_ports.__name__: "list of ports",
    env.read_secret.__name__: "secret",
    env.read_token.__name__: "secret",
    env_addresses.read_url.__name__: "URL",
    env.read_webhook_secret.__name__: "secret",
}

# Variables that do not belong in .env, because commands and workers would read them as well: (name, type, default,
# meaning).
PROCESS_VARIABLES = (
    (
        "PROMETHEUS_MULTIPROC_DIR",
        "folder",
        "var/metrics",
        "Folder in which the processes of a server share their metrics. Set it for the command of the server only.",
    ),
    (
        "GATEWAY_API_KEY",
        "secret",
        "",
        "API key with which `manage.py mcp_stdio` calls the gateway. Local mode uses the key in var/dev.env.",
    ),
    (
        "UPSTREAM_…",
        "secret",
        "",
        "Secrets of connections that are not in the database. A connection names its variable, such as "
        "`env:UPSTREAM_CRM_TOKEN`.",
    ),
    ("CI", "text", "", "If set, a skipped test fails the run, unless it is skipped by design."),
    (
        "GATEWAY_TEST_POSTGRES",
        "choice",
        "",
        "`embedded`: tests start their own PostgreSQL, even if this machine has one.",
    ),
    ("CHROMIUM", "path", "", "Browser of the tests. Default: `chromium-headless-shell`, else `chromium`."),
    ("JSON_SCHEMA_TEST_SUITE", "folder", "", "Copy of the JSON Schema Test Suite. Default: the downloaded one."),
    ("BENCH_RELEASES_SECONDS", "number", "60", "Seconds that `make bench ARGS=releases` changes releases."),
)
READ_BY_COMMANDS = {"PORT": "number"}  # read by manage.py start, not by the settings

_READER = re.compile(r"env(_addresses)?\.(read|make)_\w+")
_SECTION = re.compile(r"# --- (?P<title>.+) ---")


class SettingsDiffer(Exception):
    """config/settings.py and .env.example list different variables."""


class ExampleVariable(NamedTuple):
    """A variable as .env.example describes it."""

    section: str
    name: str
    default: str
    meaning: str


def render_page(root: Path, notice: str) -> str:
    """Return docs/reference/settings.md. Raises SettingsDiffer if a variable is missing in one of the sources."""
    types = read_types((root / "config/settings.py").read_text()) | READ_BY_COMMANDS
    variables = list(read_example((root / ".env.example").read_text()))
    names = {each.name for each in variables}
    special = {name for name, *_ in PROCESS_VARIABLES}
    if missing := sorted(types.keys() - names - special):
        raise SettingsDiffer(f".env.example does not describe {', '.join(missing)}, which config/settings.py reads.")
    if unread := sorted(names - types.keys()):
        raise SettingsDiffer(f"config/settings.py does not read {', '.join(unread)}, which .env.example describes.")

    sections = []
    for title in dict.fromkeys(each.section for each in variables):
        rows = [
            (each.name, types[each.name], each.default, each.meaning) for each in variables if each.section == title
        ]
        sections.append(f"## {title}\n\n{_render_table(rows)}")
    sections.append(
        "## Not for .env\n\nThese variables are for one command, so set them in its environment.\n\n"
        + _render_table(PROCESS_VARIABLES)
    )
    introduction = (
        "Local mode needs no settings. For production, set `GATEWAY_ENV=production` and configure everything with\n"
        "environment variables, or copy `.env.example` to `.env`. Environment variables override `.env`. An empty\n"
        "variable has its default. If a value is invalid, the process ends with a sentence that names the variable\n"
        "([deployment](../deploy.md#variables))."
    )
    return f"# Settings\n\n{notice}\n\n{introduction}\n\n" + "\n\n".join(sections) + "\n"


def read_types(source: str) -> dict[str, str]:
    """Return the type of each variable that the source of the settings reads, with its limits or choices."""
    types = {}
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and _READER.fullmatch(function := ast.unparse(call.func)):
            name = ast.literal_eval(call.args[0])
            types[name] = TYPES.get(function.rpartition(".")[2], "folder") + _describe_limits(call)
    return types


def read_example(text: str) -> Iterator[ExampleVariable]:
    """Yield the variables of .env.example, with the heading above them and the comment as their meaning."""
    section, comment = "", []
    for line in text.splitlines():
        if heading := _SECTION.fullmatch(line):
            section = heading["title"]
        elif line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        elif "=" in line:
            name, _, default = line.partition("=")
            yield ExampleVariable(section, name, default, " ".join(comment))
            comment = []
        else:
            comment = []


def _describe_limits(call: ast.Call) -> str:
    """Return the choices of a call, or its limits where they are numbers in the source."""
    values = {
        keyword.arg: ast.literal_eval(keyword.value)
        for keyword in call.keywords
        if keyword.arg in ("choices", "least", "most") and isinstance(keyword.value, ast.Constant | ast.List)
    }
    if choices := values.get("choices"):
        return f": {', '.join(choices)}"
    limits = [f"{word} {values[limit]:,}" for word, limit in (("from", "least"), ("to", "most")) if limit in values]
    return " " + " ".join(limits) if limits else ""


def _render_table(rows: list[tuple[str, str, str, str]] | tuple[tuple[str, str, str, str], ...]) -> str:
    lines = [
        f"| `{name}` | {kind} | {f'`{default}`' if default else ''} | {meaning} |"
        for name, kind, default, meaning in rows
    ]
    return "| variable | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(lines)
