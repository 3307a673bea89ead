"""Reading settings from environment variables. An invalid value ends every process with one sentence.

A function that reads a variable returns its default if the variable is not set or empty. Otherwise it returns the
value, or raises InvalidSetting. The sentence shows the value, unless the value may contain a secret.
"""

import base64
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib.machinery import PathFinder
from pathlib import Path

import environ
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import salted_hmac

from config.local_mode.secrets import load_local_secrets

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")
MAX_NUMBER = 2_147_483_647  # PostgreSQL's integers
MAX_DAYS = 36_500  # a hundred years; a date thousands of years ago cannot be computed
MAX_HOURS = 24 * MAX_DAYS
MIN_SECRET_LENGTH = 32
MIN_WEBHOOK_SECRET = 24  # bytes
MAX_NAME_LENGTH = 200
MAX_LABEL_LENGTH = 40
SHOWN_CHARACTERS = 80  # of an invalid value

RANDOM = '{} or more random characters, such as those of python -c "import secrets; print(secrets.token_urlsafe(50))"'
COMMANDS = 'a JSON object with a command line for each name, such as {"files": "mcp-server-filesystem /srv/files"}'
APPS = "apps that can be imported, separated by commas, such as workspace,chat,demo"
WEBHOOK_KEYS = (
    "whsec_ and base64 of 24 or more random bytes, such as those of "
    "python -c \"import base64, secrets; print('whsec_' + base64.b64encode(secrets.token_bytes(32)).decode())\""
)
ENCRYPTION_KEYS = (
    "keys separated by commas, each made with "
    'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
)

_FERNET_KEY = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]=")  # base64 of 32 bytes
_HEADER_PAIR = re.compile(r"[\w!#$%&'*+.^`|~-]{1,100}=.*", re.ASCII)
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


class InvalidSetting(ImproperlyConfigured):
    """A variable is missing or has an invalid value."""

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        super().__init__(f"{name} {problem}; set it to {remedy}.")


@contextmanager
def exit_on_invalid_setting() -> Iterator[None]:
    """Exit with the sentence on standard error, without a traceback, if a setting is invalid."""
    try:
        yield
    except InvalidSetting as error:
        sys.exit(str(error))


def load_settings() -> None:
    """Load Django's settings now. Django itself loads them only when a setting is needed."""
    settings.INSTALLED_APPS  # noqa: B018 - the first access loads all settings


def load_env_file(path: Path) -> None:
    """Set the variables of a file that are not set, if there is such a file."""
    environ.Env.read_env(path)


def read_secret(name: str, *, production: bool) -> str:
    """Return a secret. Local mode generates a default; production has none."""
    value = os.environ.get(name, "")  # with its spaces: without them it would be another secret
    if not production:
        return value or load_local_secrets(VAR_DIR)[name]
    if len(value) >= MIN_SECRET_LENGTH:
        return value
    problem = "is too short" if value else "is not set"
    raise InvalidSetting(name, problem, RANDOM.format(50) + ", the same on every machine")


def derive_queue_name(secret: str, database: str) -> str:
    """Return the name of the queue of all processes with this secret key and this database."""
    return f"gateway-{salted_hmac('gateway.queue', database, secret=secret).hexdigest()[:12]}"


def read_token(name: str, *, least: int = 0) -> str:
    """Return a token for an HTTP header, or nothing."""
    value = os.environ.get(name, "")
    if not (value.isascii() and value.isprintable()):
        raise InvalidSetting(name, "has a character that a header cannot hold", "ASCII letters, digits and signs")
    if 0 < len(value) < least:
        raise InvalidSetting(name, "is too short", RANDOM.format(least))
    return value


def read_encryption_keys(name: str, *, production: bool) -> list[str]:
    """Return Fernet keys; the first one encrypts. Local mode generates one; production may have none."""
    keys = read_list(name) or ([] if production else [load_local_secrets(VAR_DIR)[name]])
    if not all(_FERNET_KEY.fullmatch(key) for key in keys):
        raise InvalidSetting(name, "has a value that is not a Fernet key", ENCRYPTION_KEYS)
    return keys


def read_boolean(name: str, *, default: bool) -> bool:
    """Return a boolean, written in any case."""
    value = read_text(name)
    if not value:
        return default
    if value.lower() in (*TRUE, *FALSE):
        return value.lower() in TRUE
    raise InvalidSetting(name, f"is {quote_value(value)}", "true or false")


def read_number(name: str, *, default: int, least: int = 0, most: int = MAX_NUMBER) -> int:
    """Return a whole number."""
    value = read_text(name) or str(default)
    if value.isascii() and value.isdigit() and len(value) <= len(str(MAX_NUMBER)) and least <= int(value) <= most:
        return int(value)
    raise InvalidSetting(name, f"is {quote_value(value)}", f"a whole number from {least} to {most}, such as {default}")


def read_amount(name: str, *, default: str) -> Decimal:
    """Return an amount of money, with up to six decimals."""
    value = read_text(name) or default
    if _AMOUNT.fullmatch(value):
        return Decimal(value)
    raise InvalidSetting(name, f"is {quote_value(value)}", f"an amount such as {default}")


def read_share(name: str, *, default: str) -> float:
    """Return a share from 0 to 1."""
    value = read_text(name) or default
    if _AMOUNT.fullmatch(value) and float(value) <= 1:
        return float(value)
    raise InvalidSetting(name, f"is {quote_value(value)}", "a share from 0 to 1, such as 0.05")


def read_headers(name: str) -> str:
    """Return headers as name=value pairs with commas between them, or nothing."""
    value = read_token(name)
    if value and not all(_HEADER_PAIR.fullmatch(pair.strip()) for pair in value.split(",")):
        raise InvalidSetting(name, "is not a list of headers", "name=value, with commas between them")
    return value


def read_choice(name: str, *, choices: Sequence[str], default: str) -> str:
    """Return one of the choices, in any case."""
    value = read_text(name) or default
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise InvalidSetting(name, f"is {quote_value(value)}", f"{', '.join(choices[:-1])} or {choices[-1]}")


def read_name(name: str, *, default: str = "", required_for: str = "") -> str:
    """Return a name that another service knows, without spaces. `required_for` says what cannot be used without it."""
    value = read_text(name) or default
    if required_for and not value:
        raise InvalidSetting(name, f"is not set, but {required_for} is", "the name of one of its models")
    if value.isprintable() and not any(map(str.isspace, value)) and len(value) <= MAX_NAME_LENGTH:
        return value
    raise InvalidSetting(name, f"is {quote_value(value)}", f"a name without spaces, such as {default or 'gpt-5'}")


def read_label(name: str, *, default: str) -> str:
    """Return a short text that people read."""
    value = read_text(name) or default
    if value.isprintable() and len(value) <= MAX_LABEL_LENGTH:
        return value
    raise InvalidSetting(name, f"is {quote_value(value)}", f"at most {MAX_LABEL_LENGTH} characters, such as Acme")


def read_environment(name: str) -> str:
    """Return local or production. An empty variable is an error: it would start a production server in local mode."""
    if name in os.environ and not read_text(name):
        raise InvalidSetting(name, "is empty", "local or production")
    return read_choice(name, choices=["local", "production"], default="local")


def read_commands(name: str) -> dict[str, list[str]]:
    """Return command lines by name, from a JSON object such as {"files": "mcp-server-files /srv/files"}."""
    text = read_text(name)
    try:
        lines = json.loads(text or "{}")
        commands = {str(key): shlex.split(line) for key, line in lines.items()}
    except (ValueError, AttributeError, TypeError):
        commands = {"": []}
    if not all(key and command for key, command in commands.items()):
        raise InvalidSetting(name, "is not a JSON object of command lines", COMMANDS)
    return commands


def read_apps(name: str, *, default: str) -> list[str]:
    """Return names of Django apps that can be imported. An empty variable means none."""
    names = [each.strip() for each in os.environ.get(name, default).split(",") if each.strip()]
    for each in names:
        if not (each.isidentifier() and PathFinder.find_spec(each)):
            raise InvalidSetting(name, f"contains {quote_value(each)}", APPS)
    return list(dict.fromkeys(names))


def read_webhook_secret(name: str, *, required_for: str = "") -> str:
    """Return a secret for signing webhooks: whsec_ and base64 of 24 or more bytes, or nothing."""
    value = os.environ.get(name, "")
    if not value and required_for:
        raise InvalidSetting(name, f"is not set, but {required_for} is", WEBHOOK_KEYS)
    try:
        is_valid = len(base64.b64decode(value.removeprefix("whsec_"), validate=True)) >= MIN_WEBHOOK_SECRET
    except ValueError:
        is_valid = False
    if value and not is_valid:
        raise InvalidSetting(name, "is not a secret of 24 or more bytes", WEBHOOK_KEYS)
    return value


def make_folder(name: str, *, default: Path | None = None) -> None:
    """Make the folder that a variable names, if it is missing. Libraries read the variable, so it gets the default."""
    value = os.environ.pop(name, "") or (str(default) if default else "")
    if value:
        os.environ[name] = value
        _make_private_folder(name, value)


def read_folder(name: str, *, default: Path) -> Path:
    """Return a folder, and make it if the variable names it. The default is made by whoever first needs it."""
    value = read_text(name)
    if value:
        _make_private_folder(name, value)
    return Path(value or default).absolute()


def _make_private_folder(name: str, value: str) -> None:
    """Make a folder, if it is missing, that only this user can read."""
    try:
        Path(value).mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = "" if os.access(value, os.W_OK | os.X_OK) else "to which this process cannot write"
    except OSError as error:
        problem = f"which cannot be made ({error.strerror})"
    if problem:
        remedy = "a folder to which this process can write, such as /srv/gateway"
        raise InvalidSetting(name, f"is {quote_value(value)}, {problem}", remedy)


def make_metrics_folder() -> None:
    """Make the folder in which the processes of a server share their metrics."""
    make_folder("PROMETHEUS_MULTIPROC_DIR", default=VAR_DIR / "metrics")


def read_text(name: str) -> str:
    """Return the value of a variable without the spaces around it; "" if it is not set."""
    return os.environ.get(name, "").strip()


def read_list(name: str, default: str = "") -> list[str]:
    """Return the values that a variable separates by commas."""
    return [each.strip() for each in (read_text(name) or default).split(",") if each.strip()]


def quote_value(value: str) -> str:
    """Return an invalid value as the sentence shows it."""
    return repr(value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…")
