"""Every answer has its event: soon, and also when the server stops in the same moment."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from analytics.events.models import OperationEvent
from tests.support.servers.processes import Server, eventually, get_process_id, kill_process

pytestmark = pytest.mark.server


def count_events_by_trace() -> Counter[str]:
    return Counter(OperationEvent.objects.values_list("trace_id", flat=True))


def call_for_trace(http: httpx2.Client) -> str:
    """Make a call whose event is buffered and return its trace."""
    response = http.get("/api/v1/help", params={"path": "onto.task"})
    assert response.status_code == 200
    return response.headers["Gateway-Trace"]


def test_event_of_a_response_is_stored_within_a_second(shared_server: Server) -> None:
    responses = [
        shared_server.help(),
        shared_server.help("no.such.path"),
        shared_server.exec("onto.task.list"),
        shared_server.exec("onto.task.get", {"task_id": ": "}),
    ]
    assert [response.status_code for response in responses] == [200, 404, 200, 400]

    traces = {response.headers["Gateway-Trace"] for response in responses}
    eventually(lambda: traces <= set(count_events_by_trace()), what="the arrival of four events")
    assert {count_events_by_trace()[trace] for trace in traces} == {1}


def test_events_are_all_written_when_the_server_stops_during_a_burst(server: Server) -> None:
    answered: list[str] = []
    enough = threading.Event()

    def call_until_server_stops() -> None:
        try:
            with server.client() as http:
                while True:
                    answered.append(call_for_trace(http))
                    if len(answered) > 100:
                        enough.set()
        except httpx2.TransportError:
            pass

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(call_until_server_stops)
        assert enough.wait(60)
        server.process.stop()

    counts = count_events_by_trace()
    assert [trace for trace in answered if counts[trace] != 1] == []


def test_server_replaces_a_killed_worker(server: Server) -> None:
    with server.workers() as workers:
        killed, survivor = sorted(workers)
        kill_process(killed)
        traces = [call_for_trace(workers[survivor]) for _ in range(50)]
        assert get_process_id(workers[survivor]) == survivor

    with server.workers() as workers:
        assert survivor in workers
        assert killed not in workers
        traces += [call_for_trace(http) for http in workers.values()]

    eventually(lambda: not set(traces) - set(count_events_by_trace()), what="the events' arrival")
