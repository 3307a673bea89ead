"""Every answer has its event: soon, and also when the server stops in the same moment."""

import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from analytics.models import OperationEvent
from tests.support.servers.processes import Server, eventually, process_of

pytestmark = pytest.mark.server


def traces_told() -> Counter[str]:
    """Return how often each trace is in the table."""
    return Counter(OperationEvent.objects.values_list("trace_id", flat=True))


def ask(http: httpx2.Client) -> str:
    """Make a call whose event is buffered and return its trace."""
    answer = http.get("/api/v1/help", params={"path": "onto.task"})
    assert answer.status_code == 200
    return answer.headers["Gateway-Trace"]


def test_event_of_an_answer_is_in_the_table_within_a_second(shared_server: Server) -> None:
    answers = [
        shared_server.help(),
        shared_server.help("no.such.path"),
        shared_server.exec("onto.task.list"),
        shared_server.exec("onto.task.get", {"task_id": ": "}),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 200, 400]

    traces = {answer.headers["Gateway-Trace"] for answer in answers}
    eventually(lambda: traces <= set(traces_told()), within=10, what="the arrival of four events")
    assert {traces_told()[trace] for trace in traces} == {1}


def test_events_of_a_burst_are_all_written_when_the_server_is_stopped_at_once(server: Server) -> None:
    def burst(_: int) -> list[str]:
        with server.client() as http:
            return [ask(http) for _ in range(30)]

    with ThreadPoolExecutor(8) as pool:
        answered = [trace for traces in pool.map(burst, range(8)) for trace in traces]
    server.process.stop()

    told = traces_told()
    assert len(answered) == 240
    assert Counter(answered) == Counter({trace: told[trace] for trace in answered})


def test_events_of_answers_are_all_written_when_the_server_stops_amid_a_burst(server: Server) -> None:
    answered: list[str] = []
    enough = threading.Event()

    def until_it_is_gone() -> None:
        try:
            with server.client() as http:
                while True:
                    answered.append(ask(http))
                    if len(answered) > 100:
                        enough.set()
        except httpx2.TransportError:
            pass

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(until_it_is_gone)
        assert enough.wait(20)
        server.process.stop()

    told = traces_told()
    assert [trace for trace in answered if told[trace] != 1] == []


def test_server_goes_on_and_has_a_new_worker_when_one_is_killed(server: Server) -> None:
    with server.workers() as workers:
        killed, left = sorted(workers)
        os.kill(killed, signal.SIGKILL)
        traces = [ask(workers[left]) for _ in range(50)]
        assert process_of(workers[left]) == left

    with server.workers() as workers:
        assert left in workers
        assert killed not in workers
        traces += [ask(http) for http in workers.values()]

    eventually(lambda: not set(traces) - set(traces_told()), within=10, what="the events' arrival")
