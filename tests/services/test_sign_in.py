"""Many sign-ins at once: each process hashes one password at a time, and the API is served meanwhile."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.support.servers.processes import PLAIN_HTTP, WORKERS, Server, eventually, submit_sign_in

pytestmark = pytest.mark.server

CONNECTIONS = 10


def test_help_is_served_while_many_sign_ins_wait(serve: Callable[..., Server], tmp_path: Path) -> None:
    folder = tmp_path / "hashing"
    folder.mkdir()
    server = serve(DJANGO_SETTINGS_MODULE="tests.support.servers.hashing_settings", HASHING_FOLDER=str(folder))

    def sign_in(number: int) -> httpx2.Response:
        with httpx2.Client(base_url=server.url, timeout=60, **PLAIN_HTTP) as http:
            return submit_sign_in(http, f"nobody{number}", "wrong")

    with server.workers() as workers, ThreadPoolExecutor(CONNECTIONS) as pool:
        # One in each process, then others, which are refused at once or after they waited for their turn.
        first = [pool.submit(submit_sign_in, http, "nobody", "wrong") for http in workers.values()]
        eventually(lambda: len([*folder.glob("*-*")]) == WORKERS, within=60, what="a hash in each process")
        others = [pool.submit(sign_in, number) for number in range(CONNECTIONS - WORKERS)]
        eventually(lambda: all(each.done() for each in others), within=60, what="refusals")
        hashes = [file.name.partition("-")[0] for file in folder.glob("*-*")]
        with server.workers() as free:
            statuses = [http.get("/api/v1/help").status_code for http in free.values()]
        (folder / "go").touch()
        answers = [each.result() for each in first]
        refusals = [each.result() for each in others]

    assert sorted(hashes) == sorted(map(str, workers))
    assert statuses == [200] * WORKERS
    assert {response.status_code for response in refusals} == {429}
    assert {response.headers["Retry-After"] for response in refusals} == {"2"}
    assert {response.status_code for response in answers} == {200}
