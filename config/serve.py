"""Start the server: python -m config.serve [arguments of granian], such as --host 0.0.0.0 --port 8000."""

import gc
import logging
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import django
from django.conf import settings
from granian.server.mp import MPServer

from config import env
from core.memory import pause_gc

log = logging.getLogger(__name__)

# Workers that die when they start would take all of a core. After so many deaths in a minute the server pauses.
MAX_DEATHS = 10
DEATHS_SECONDS = 60.0
PAUSE_SECONDS = 5.0


def main() -> None:
    """Serve the gateway."""
    run_server(
        lambda: build_arguments("config.rsgi:application", workers=settings.GATEWAY_WORKERS),
        modules=("config.urls", "gateway.mcp_server.server", "gateway.executors.mcp.tool_runner"),
        load_data=_load_shared_data,
    )


def run_server(
    list_arguments: Callable[[], list[str]],
    *,
    modules: Sequence[str],
    load_data: Callable[[], object] = lambda: None,
) -> None:
    """Run granian so that a signal stops it and its workers at any time, even during startup.

    `list_arguments` is called when the settings are loaded. Before workers are forked, `modules` are imported, and
    `load_data` is called.
    """
    # Until granian sets its handler, Python's would print a traceback. manage.py start blocks the signal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # Here and not only in the workers, which the server would start again and again.
    with env.exit_on_invalid_setting():
        env.make_metrics_folder()
        env.load_settings()
    _preload_application(modules, load_data)
    os.register_at_fork(after_in_child=_stop_on_sigterm_only)
    from granian import cli

    cli.Server = PersistentServer  # type: ignore[attr-defined]  # it is imported there, and not declared again
    sys.argv[1:1] = list_arguments()
    cli.entrypoint()  # type: ignore[no-untyped-call]  # the package has no type hint for it


def build_arguments(application: str, *, workers: int, interface: str = "rsgi") -> list[str]:
    """Return the arguments with which granian serves this project. Later arguments override them."""
    return [
        "--interface",
        interface,
        "--http",
        "1",
        "--no-ws",
        "--log-level",
        "warning",
        "--workers",
        str(workers),
        "--respawn-failed-workers",
        "--workers-kill-timeout",
        "25",
        application,
    ]


def _load_shared_data() -> None:
    """Load what each worker needs and never changes: 32 MB of tokens, and the 5 MB vocabulary of word vectors."""
    from core.text import token_budget  # when the settings are loaded, which numpy must not precede
    from registry.search import word_vectors

    token_budget.load_tokenizer()
    word_vectors.load_vectors()


def _preload_application(modules: Sequence[str], load_data: Callable[[], object]) -> None:
    """Import the application. Workers are forks of this process: they start immediately and share the memory.

    Nothing here may start a thread or connect to anything: a fork would lack the thread and share the connection.
    """
    with pause_gc():  # imports make a million objects and no garbage: looking for it takes a fifth of the time
        django.setup()
        for module in (*modules, *(name.rpartition(".")[0] for name in settings.MIDDLEWARE)):
            import_module(module)
        load_data()
    from core import metrics

    metrics.drop_own_gauges()
    gc.collect()
    gc.freeze()  # else the first collection of each worker would write to all of it, and so copy it


class PersistentServer(MPServer):
    """A server that spreads connections over its workers, and goes on if one dies twice in five seconds.

    granian 2.8 would end all workers then.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._listeners: list[Any] = []  # one for each worker, as granian has them
        self._sockets: list[socket.socket] = []

    def _init_shared_socket(self) -> None:
        """Open a socket for each worker, and keep it when the worker dies.

        The system spreads connections over these sockets. If all workers shared one, a single worker would often take
        all connections that come at once. On Linux granian lets each worker open its own: then connections that wait
        for a dead worker are lost, and the port is closed when all of them are dead.
        """
        super()._init_shared_socket()  # type: ignore[no-untyped-call]
        specification: Any = self._ssp
        if specification is None:  # other systems do not spread connections
            self._listeners = [self._shd] * self.workers
            return
        self._ssp = None
        self._listeners = [specification.build() for _ in range(self.workers)]
        self._sockets = [socket.socket(fileno=each.get_fd()) for each in self._listeners]

    def _drop_shared_socket(self) -> None:
        super()._drop_shared_socket()  # type: ignore[no-untyped-call]
        for each in self._sockets:
            each.close()

    def _spawn_worker(self, idx: int, *arguments: Any, **options: Any) -> Any:
        self._shd = self._listeners[idx]
        return super()._spawn_worker(idx, *arguments, **options)

    def signal_handler_interrupt(self, *arguments: Any) -> None:
        """Stop when the running requests have ended, or immediately at a second Ctrl-C or SIGTERM."""
        if self.interrupt_signal:
            for worker in self.wrks:
                worker.kill()  # type: ignore[no-untyped-call]
        super().signal_handler_interrupt(*arguments)  # type: ignore[no-untyped-call]

    def _stop_workers(self) -> None:
        """Stop all workers, and kill those that take longer than they may.

        granian 2.8 may also log that it kills a worker that has just ended: another thread saw the end first, and has
        not said so yet.
        """
        for worker in self.wrks:
            worker.terminate()  # type: ignore[no-untyped-call]
        until = time.monotonic() + (self.workers_kill_timeout or 0)
        while time.monotonic() < until and any(
            worker.is_alive()  # type: ignore[no-untyped-call]
            for worker in self.wrks
        ):
            time.sleep(0.01)
        self.workers_kill_timeout = 1  # seconds more; they have had theirs
        super()._stop_workers()  # type: ignore[no-untyped-call]

    def _respawn_workers(self, workers: list[int], *arguments: Any, **options: Any) -> None:
        now = time.monotonic()
        if len(self._deaths) == MAX_DEATHS and now - self._deaths[0] < DEATHS_SECONDS:
            log.error("server.workers_keep_dying pause_seconds=%s", PAUSE_SECONDS)
            self.main_loop_interrupt.wait(PAUSE_SECONDS)  # until a signal
        self._deaths.append(now)
        super()._respawn_workers(workers, *arguments, **options)
        self.respawned_wrks.clear()  # with which granian reports that a worker died again


def _stop_on_sigterm_only() -> None:
    """Make a worker stop on the server's SIGTERM only.

    A worker inherits the server's handler, which only records the signal for the server's loop. A worker that gets
    SIGTERM before it has loaded the application and set its own handler would run on until it is killed. Ctrl-C reaches
    the workers as well as the server, which then sends SIGTERM; a granian 2.8 worker may hang if it gets both at the
    same time.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


if __name__ == "__main__":
    main()
