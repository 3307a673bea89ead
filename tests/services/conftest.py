"""Servers over databases that the tests reach, too: one of its own for a test that needs it, else one for all."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from tests.support.servers import brokers, stores
from tests.support.servers.brokers import Broker
from tests.support.servers.environment import PEPPER, build_environment, make_key
from tests.support.servers.processes import Process, Server, run_server, run_worker
from tests.support.servers.stores import Store


@pytest.fixture(scope="session")
def set_up_store(django_db_blocker: DjangoDbBlocker, run_folder: Path) -> Iterator[Store]:
    """A database as `make run` leaves it, to be copied. One test worker sets it up for all, the last one drops it."""
    stores.add_probe()  # also where another worker sets it up
    shared = ExitStack()
    with django_db_blocker.unblock():
        store = shared.enter_context(stores.share_set_up_store(run_folder))
    yield store
    with django_db_blocker.unblock():
        shared.close()


@pytest.fixture
def store(set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path: Path, settings: Any) -> Iterator[Store]:
    """A copy of it, on which this process works during the test, with the servers' pepper."""
    settings.GATEWAY_KEY_PEPPER = PEPPER
    with django_db_blocker.unblock():
        copy = stores.create_store(tmp_path, set_up_store)
        with copy.connected():
            yield copy
        stores.drop_store(copy)


@pytest.fixture
def serve(store: Store, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server over the test's database; options are variables of its environment. All are stopped."""
    with ExitStack() as stack:

        def started(*, port: int | None = None, **variables: str) -> Server:
            environment = build_environment(store, tmp_path, **variables)
            server = stack.enter_context(run_server(environment=environment, key=make_key(), port=port))
            with server.workers():  # readiness is said by one of them; a signal would find the other still loading
                return server

        yield started


@pytest.fixture(scope="session")
def serve_several_tests(
    set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager[tuple[Server, Store]]]:
    """Return a context manager: a server over a database of its own; options are variables of its environment."""

    @contextmanager
    def serving(*commands: str, **variables: str) -> Iterator[tuple[Server, Store]]:
        folder = tmp_path_factory.mktemp("server")
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER):
            copy = stores.create_store(folder, set_up_store)
            with copy.connected():
                key = make_key()
        environment = build_environment(copy, folder, **variables)
        for command in commands:
            run = [sys.executable, "manage.py", *command.split()]
            subprocess.run(run, cwd=django_settings.BASE_DIR, env=environment, check=True)
        with run_server(environment=environment, key=key) as server:
            with server.workers():
                pass
            yield server, copy
        with django_db_blocker.unblock():
            stores.drop_store(copy)

    return serving


@pytest.fixture(scope="session")
def server_for_all(
    serve_several_tests: Callable[..., AbstractContextManager[tuple[Server, Store]]],
) -> Iterator[tuple[Server, Store]]:
    """One server for the tests of this worker that neither stop it nor need it untouched."""
    with serve_several_tests() as (server, copy):
        yield server, copy


@pytest.fixture
def shared_server(
    server_for_all: tuple[Server, Store], django_db_blocker: DjangoDbBlocker, settings: Any
) -> Iterator[Server]:
    """The server that tests share, and its database for this process. Other tests leave rows behind."""
    server, copy = server_for_all
    settings.GATEWAY_KEY_PEPPER = PEPPER
    with django_db_blocker.unblock(), copy.connected():
        yield server


@pytest.fixture
def work(store: Store, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start a Celery worker over the test's database; options are variables of its environment. All are stopped."""
    with ExitStack() as stack:
        yield lambda **variables: stack.enter_context(
            run_worker(environment=build_environment(store, tmp_path, **variables))
        )


@pytest.fixture(scope="session")
def running_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Broker]]:
    """The brokers that tests have asked for so far, by name."""
    running: dict[str, Broker] = {}
    yield running
    for broker in running.values():
        broker.stop()


@pytest.fixture(params=list(brokers.BROKERS))
def broker(
    request: pytest.FixtureRequest, running_brokers: dict[str, Broker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker that runs, once Redis and once RabbitMQ; whatever a test does to it is repaired afterwards."""
    broker = brokers.start_broker_once(request.param, running_brokers, tmp_path_factory)
    yield broker
    broker.resume()
    if not broker.answers():
        broker.stop()
        broker.start()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder through which a test and a waiting handler of the probe tell each other how far they are."""
    folder = tmp_path / "probe"
    folder.mkdir()
    return folder


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A server as `make run` starts it, with a key for the demo subject that no limit meets."""
    return serve()
