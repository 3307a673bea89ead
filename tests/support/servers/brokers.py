"""Redis and RabbitMQ servers on free ports, in temporary folders, which a test may stop, pause and empty."""

import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.db import connection
from kombu import Connection

from config import env
from tests.support.servers.environment import SECRETS
from tests.support.servers.processes import Process, eventually, free_port

STARTS_WITHIN = 60.0  # seconds; RabbitMQ takes ten on a busy machine


class Broker:
    """A broker process that can be stopped and restarted at the same address."""

    command: list[str]
    url: str
    port: int

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: Process | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of the process."""
        return os.environ

    def start(self) -> None:
        """Start the broker and wait until it accepts connections."""
        process = self.process = Process(self.command, environment=self.environment, folder=self.folder)

        def serves() -> bool:
            assert process.inner.poll() is None, f"The broker ended:\n{process.output}"
            return self.answers()

        eventually(serves, within=STARTS_WITHIN, what=f"the start of {self.command[0]}")

    def stop(self) -> None:
        """Kill the broker. Connections end, and new ones are refused."""
        if self.process:
            self.process.kill()

    def pause(self) -> None:
        """Suspend the broker. Connections stay open and new ones are accepted by the system, but get no answer."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def empty(self) -> None:
        """Delete all messages."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Return whether the broker accepts connections and answers."""
        try:
            with Connection(self.url, connect_timeout=2) as broker:
                broker.connect()
        except Exception:  # each broker has its own errors
            return False
        return True

    def _signal(self, sign: int) -> None:
        assert self.process
        os.killpg(self.process.inner.pid, sign)


class Redis(Broker):
    """A Redis that stores nothing on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]

    def empty(self) -> None:
        """Delete everything with FLUSHALL: messages, bindings and unacknowledged messages."""
        with Connection(self.url) as broker:
            broker.default_channel.client.flushall()


class RabbitMQ(Broker):
    """A RabbitMQ without plugins, isolated from others on this machine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        # The script on PATH changes the user if root starts it. This is the script that it then runs.
        inner = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
        self.command = [str(inner) if inner.exists() else "rabbitmq-server"]
        self.epmd_port, self.dist_port = free_port(), free_port()

    @property
    def environment(self) -> Mapping[str, str]:
        """Return variables that replace everything RabbitMQ would share with others on this machine."""
        folder = str(self.folder)
        (self.folder / "plugins").write_text("[].")
        return {
            **os.environ,
            "HOME": folder,  # for the Erlang cookie
            "ERL_EPMD_PORT": str(self.epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"gateway{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.dist_port),
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_CONFIG_FILE": f"{folder}/none",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",  # one of the machine's few cores is enough
        }

    def start(self) -> None:
        """Start the broker and Erlang's name server, which would otherwise stay behind as a daemon."""
        command = ["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"]
        self.names = Process(command, environment=os.environ, folder=self.folder)
        eventually(lambda: _is_listening(self.epmd_port), within=STARTS_WITHIN, what="the start of epmd")
        super().start()

    def stop(self) -> None:
        """Kill the broker and the name server."""
        super().stop()
        self.names.kill()

    def empty(self) -> None:
        """Purge the queue of the servers that use the database of this process."""
        queue = env.derive_queue_name(SECRETS["SECRET_KEY"], connection.settings_dict["NAME"])
        with Connection(self.url) as broker:
            broker.default_channel.queue_purge(queue)


BROKERS: dict[str, type[Broker]] = {"redis": Redis, "rabbitmq": RabbitMQ}
_PROGRAMS = {"redis": "redis-server", "rabbitmq": "rabbitmq-server"}


def start_broker_once(name: str, running: dict[str, Broker], folders: pytest.TempPathFactory) -> Broker:
    """Return a running broker by name, and start it if necessary. Skips the test if it is not installed."""
    if shutil.which(_PROGRAMS[name]) is None:
        pytest.skip(f"{_PROGRAMS[name]} is not installed")
    if name not in running:
        running[name] = BROKERS[name](folders.mktemp(name))
        running[name].start()
    return running[name]


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
