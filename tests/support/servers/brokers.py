"""Brokers of our own: Redis and RabbitMQ on free ports, in temporary folders, that a test may stop, pause and empty."""

import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from kombu import Connection

from tests.support.servers.processes import Process, eventually, free_port

STARTS_WITHIN = 60.0  # seconds; RabbitMQ takes ten on a machine that is busy
QUEUE = "gateway"


class Broker:
    """A broker process that can be taken away and given back at the same address."""

    command: list[str]
    url: str
    port: int

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: Process | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that it is started with."""
        return os.environ

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        process = self.process = Process(self.command, environment=self.environment, folder=self.folder)

        def serves() -> bool:
            assert process.inner.poll() is None, f"The broker ended:\n{process.output}"
            return self.answers()

        eventually(serves, within=STARTS_WITHIN, what=f"the start of {self.command[0]}")

    def stop(self) -> None:
        """Kill it: clients see their connections end, and none after that is taken."""
        if self.process:
            self.process.kill()

    def pause(self) -> None:
        """Have it stand still: connections stay, and new ones are made by the system, but nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._signal(signal.SIGCONT)

    def empty(self) -> None:
        """Have it lose every message."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether it takes connections and speaks."""
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
        except Exception:  # each broker has errors of its own
            return False
        return True

    def _signal(self, sign: int) -> None:
        assert self.process
        os.killpg(self.process.inner.pid, sign)


class Redis(Broker):
    """A Redis that keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]

    def empty(self) -> None:
        """FLUSHALL: messages, bindings, and what it knows of messages that were not acknowledged."""
        with Connection(self.url) as connection:
            connection.default_channel.client.flushall()


class RabbitMQ(Broker):
    """A RabbitMQ without plugins, that knows of no other one on this machine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        # The one on the PATH becomes another user where root starts it; this one is what it then runs.
        inner = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
        self.command = [str(inner) if inner.exists() else "rabbitmq-server"]
        self.epmd_port, self.dist_port = free_port(), free_port()

    @property
    def environment(self) -> Mapping[str, str]:
        """All that RabbitMQ would else share with others of its kind on this machine."""
        folder = str(self.folder)
        (self.folder / "plugins").write_text("[].")
        return {
            **os.environ,
            "HOME": folder,  # of the Erlang cookie
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
        """Start it beside the name server that its Erlang needs, which else would stay behind as a daemon."""
        command = ["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"]
        self.names = Process(command, environment=os.environ, folder=self.folder)
        eventually(lambda: _listens(self.epmd_port), within=STARTS_WITHIN, what="the start of epmd")
        super().start()

    def stop(self) -> None:
        """Kill both."""
        super().stop()
        self.names.kill()

    def empty(self) -> None:
        """Purge the queue."""
        with Connection(self.url) as connection:
            connection.default_channel.queue_purge(QUEUE)


BROKERS: dict[str, type[Broker]] = {"redis": Redis, "rabbitmq": RabbitMQ}
_PROGRAMS = {"redis": "redis-server", "rabbitmq": "rabbitmq-server"}


def started(name: str, running: dict[str, Broker], folders: pytest.TempPathFactory) -> Broker:
    """Return a broker by name out of those that run, started where it does not yet. Skips where it is not installed."""
    if shutil.which(_PROGRAMS[name]) is None:
        pytest.skip(f"{_PROGRAMS[name]} is not installed")
    if name not in running:
        running[name] = BROKERS[name](folders.mktemp(name))
        running[name].start()
    return running[name]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
