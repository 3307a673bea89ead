import fcntl
import os
import secrets
import shutil
import signal
import socket
import sys
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from analytics.events import stored_contents
from config.local_mode import dev_env, lifeline, welcome
from config.local_mode.dev_env import SHOP_TOKEN_VARIABLE
from core import demo_data
from gateway.access import api_keys, key_verification
from gateway.models import Client

LOCAL_KEY_RATE = 1_000  # requests per second of the local key: high enough for local benchmarks


class Command(BaseCommand):
    help = (
        "Start the local gateway and its chat: migrate, load catalog and demo, create an admin and keys, "
        "serve the gateway on PORT, the chat on PORT + 1 and an example service on PORT + 2. GATEWAY_APPS says whether "
        "there are a chat and a demo."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("start is for local use only. In production run migrate, load_catalog and granian.")
        port = _read_port()
        # Ctrl-C must end the process immediately. Python's handler raises, and a library's bare except may swallow
        # that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        settings.VAR_DIR.mkdir(mode=0o700, exist_ok=True)
        _acquire_lock(port)
        has_chat, has_demo = apps.is_installed("chat"), apps.is_installed("demo")
        chat_port, shop_port = port + 1, port + 2
        ports = [port, *([chat_port] if has_chat else []), *([shop_port] if has_demo else [])]
        for each in ports:
            _check_port_is_free(each)
        call_command("migrate", verbosity=0)
        call_command("load_catalog", "--publish", stdout=self.stdout)
        if has_demo:
            call_command("load_demo", "--shop", f"http://127.0.0.1:{shop_port}", stdout=self.stdout)
        stored_contents.begin_locally(by="start", at=timezone.now())
        values = _ensure_dev_env(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{chat_port}/chat/" if has_chat else "")
        self.stdout.write("Starting the servers.")
        sys.stdout.flush()
        shutil.rmtree(settings.VAR_DIR / "metrics", ignore_errors=True)  # metrics of the previous server
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # else glibc keeps an arena for each of a dozen threads
        os.environ["AGENTIC_CHAT_TOOL_GATEWAY"] = os.environ.get("AGENTIC_CHAT_TOOL_GATEWAY") or "on"
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the server handles it
        os.environ |= {
            "GATEWAY_URL": settings.GATEWAY_URL or values["GATEWAY_URL"],
            "CHAT_URL": values["CHAT_URL"],
            "CHAT_GATEWAY_URL": values["GATEWAY_URL"],
            "CHAT_GATEWAY_KEY": values["CHAT_GATEWAY_KEY"],
            SHOP_TOKEN_VARIABLE: secrets.token_urlsafe(24),
        }
        os.environ["GATEWAY_URL"] = os.environ.get("GATEWAY_URL") or values["GATEWAY_URL"]
        if has_demo:
            lifeline.start_server("config.local_mode.serve_shop", [str(shop_port)], os.environ)
        if has_chat:
            lifeline.start_server("config.chat.serve", ["--host", "127.0.0.1", "--port", str(chat_port)], os.environ)
        environment = os.environ | {welcome.TEXT_VARIABLE: _write_welcome(values)}
        lifeline.start_server("config.local_mode.welcome", list(map(str, ports)), environment).wait()
        arguments = ["--host", "127.0.0.1", "--port", str(port)]
        os.execv(sys.executable, [sys.executable, "-m", "config.serve", *arguments])  # noqa: S606 - no shell is wanted


def _write_welcome(values: dict[str, str]) -> str:
    url = values["GATEWAY_URL"]
    addresses = [f"  console  {url}/admin/   {values['ADMIN_USERNAME']} / {values['ADMIN_PASSWORD']}"]
    if apps.is_installed("chat"):
        addresses.append(f"  chat     {values['CHAT_URL']}   the same user")
    if apps.is_installed("demo"):
        addresses.append("  shop     an example service: its ops begin with shop.")
    lines = "\n".join(addresses)
    return f"""
Tool Gateway is on {url}
{lines}
  keys     in var/dev.env, for {values["GATEWAY_SUBJECT"]}: GATEWAY_API_KEY, and GATEWAY_MCP_KEY for MCP clients

Try it from another terminal:
  . var/dev.env
  curl -s "$GATEWAY_URL/api/v1/help" -H "Authorization: Bearer $GATEWAY_API_KEY"

Press Ctrl-C to finish running requests and stop. Press it again to stop immediately.
"""


def _read_port() -> int:
    text = os.environ.get("PORT", "8000")
    if not text.isdecimal() or not 0 < int(text) < 65534:
        raise CommandError(f"PORT is {text!r}; set it to a number from 1 to 65533. The next two are also used.")
    return int(text)


def _acquire_lock(port: int) -> None:
    """Hold a lock until this process, or the server that replaces it, ends: var/ belongs to one server."""
    lock = os.open(settings.VAR_DIR / "start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other_port = os.read(lock, 5).decode()
        raise CommandError(
            f"This checkout's gateway already runs on port {other_port}. "
            "Use it, or stop it with Ctrl-C in its terminal."
        ) from None
    os.truncate(lock, 0)
    os.write(lock, str(port).encode())
    os.set_inheritable(lock, True)


def _check_port_is_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(f"Port {port} is taken. Choose another: PORT=8100 make run") from None


def _ensure_dev_env(url: str, chat_url: str) -> dict[str, str]:
    """Create the admin and the keys if they are missing, write var/dev.env and return its values."""
    path, current = dev_env.get_path(), dev_env.read()
    updated = {**current, "GATEWAY_URL": url, "CHAT_URL": chat_url}
    if "ADMIN_PASSWORD" not in current or not _has_user(current.get("ADMIN_USERNAME", "")):
        updated |= _create_admin()
    if "GATEWAY_API_KEY" not in current or key_verification.verify(current["GATEWAY_API_KEY"]) is None:
        updated |= _create_key()
    if "CHAT_GATEWAY_KEY" not in current or key_verification.verify(current["CHAT_GATEWAY_KEY"]) is None:
        updated |= _create_chat_key()
    if "GATEWAY_MCP_KEY" not in current or key_verification.verify(current["GATEWAY_MCP_KEY"]) is None:
        updated |= _create_mcp_key()
    if apps.is_installed("chat"):
        _ensure_profile(updated["ADMIN_USERNAME"])
    if updated != current:
        new_path = path.with_suffix(".new")
        with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in sorted(updated.items()))
        new_path.replace(path)
    return updated


def _has_user(username: str) -> bool:
    """Return whether the user exists: the database may be newer than dev.env."""
    return get_user_model()._default_manager.filter(username=username).exists()


def _create_admin() -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    user, _ = get_user_model().objects.get_or_create(
        username="admin", defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save()
    return {"ADMIN_USERNAME": "admin", "ADMIN_PASSWORD": password}


def _create_key() -> dict[str, str]:
    client, _ = Client.objects.get_or_create(name="demo", defaults={"confirms": False})
    _, plaintext = api_keys.issue(
        client=client, by="start", name="local", subject=demo_data.get_demo_subject(), rate=LOCAL_KEY_RATE
    )
    return {"GATEWAY_API_KEY": plaintext, "GATEWAY_SUBJECT": demo_data.get_demo_subject()}


def _create_chat_key() -> dict[str, str]:
    """Create the key with which the chat speaks for its users. The gateway makes it ask them before a delete."""
    client, _ = Client.objects.get_or_create(name="chat", defaults={"confirms": True})
    _, plaintext = api_keys.issue(client=client, by="start", name="local", rate=LOCAL_KEY_RATE)
    return {"CHAT_GATEWAY_KEY": plaintext}


def _create_mcp_key() -> dict[str, str]:
    """Create a key for MCP clients. The gateway makes them ask their user before a delete."""
    client, _ = Client.objects.get_or_create(name="mcp", defaults={"confirms": True})
    _, plaintext = api_keys.issue(
        client=client, by="start", name="local", subject=demo_data.get_demo_subject(), rate=LOCAL_KEY_RATE
    )
    return {"GATEWAY_MCP_KEY": plaintext}


def _ensure_profile(username: str) -> None:
    """Make the admin the demo subject in the chat, unless somebody chose another."""
    user = get_user_model()._default_manager.get(username=username)
    profiles = apps.get_model("chat", "Profile")._default_manager
    profiles.get_or_create(user=user, defaults={"subject": demo_data.get_demo_subject()})
