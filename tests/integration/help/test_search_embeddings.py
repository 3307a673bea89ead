"""Search with an embeddings endpoint: ops are embedded once and stored, requests in time or not at all."""

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import orjson
import pytest
import time_machine
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import overload
from core.background import leases
from core.database.deadlines import Deadline
from registry import search
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.models import Op, OpEmbedding
from registry.search import embeddings_endpoint, op_embeddings
from registry.search.embeddings_endpoint import EmbeddingsFailed
from registry.search.op_embeddings import OpEmbeddings
from registry.search.word_vectors import Floats
from tests.support.clients.api import Api
from tests.support.rows.catalog_fixture import publish_draft
from tests.support.upstreams.fake_internet import FakeInternet
from tests.support.upstreams.http_servers import ResponseBytes, build_response

LIMIT_MS = embeddings_endpoint.REQUEST_TIMEOUT_MS
SECRET = "sk-hunter2-hunter2"
WEATHER_WORD, MATCHING_OP = "umbrella", "onto.milestone.list"  # nothing but the endpoint sees that they belong together


class FakeModel:
    """An embeddings endpoint whose vectors say one thing: whether a text is about the weather.

    `sizes` are those of the batches that it answered with vectors.
    """

    def __init__(self) -> None:
        self.inputs: list[list[str]] = []
        self.sizes: list[int] = []
        self.keys: list[str] = []
        self.answer: Callable[[list[str]], ResponseBytes] = self.embed

    def __call__(self, request: bytes) -> ResponseBytes:
        head, _, body = request.partition(b"\r\n\r\n")
        self.keys += [line for line in head.decode().split("\r\n") if line.lower().startswith("authorization")]
        texts = orjson.loads(body)["input"]
        self.inputs.append(texts)
        return self.answer(texts)

    def embed(self, texts: list[str]) -> ResponseBytes:
        return self.build_answer([[3.0, 0.0] if is_about_weather(text) else [0.0, 3.0] for text in texts])

    def embed_in_three_numbers(self, texts: list[str]) -> ResponseBytes:
        return self.build_answer([[3.0, 0.0, 1.0] if is_about_weather(text) else [0.0, 3.0, 1.0] for text in texts])

    def build_answer(self, vectors: list[list[float]]) -> ResponseBytes:
        self.sizes.append(len(vectors))
        entries = [{"index": at, "object": "embedding", "embedding": vector} for at, vector in enumerate(vectors)]
        return build_response(orjson.dumps({"data": entries[::-1], "model": "fake"}))  # any order


def is_about_weather(text: str) -> bool:
    return WEATHER_WORD in text or "list onto milestones" in text


def build_real_looking_vector(text: str, common: float) -> list[float]:
    """Return a vector with chance cosines to others, as many models give, and with much in common, as others do."""
    seed = "weather" if is_about_weather(text) else text
    noise = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])).normal(size=384)
    noise[0] += common * 384**0.5
    return [float(number) for number in noise]


@pytest.fixture
def model(
    live_catalog: Catalog, fake_internet: FakeInternet, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> FakeModel:
    """Serve a fake model, and configure it as the endpoint."""
    forget_vectors(live_catalog)
    embeddings_endpoint.clear_state()
    monkeypatch.setattr(op_embeddings, "_pause", op_embeddings.POLL_SECONDS)
    monkeypatch.setattr(op_embeddings, "_next_run", 0.0)
    monkeypatch.setattr(embeddings_endpoint, "REQUEST_TIMEOUT_MS", 5_000)  # on a busy machine the fake is slow
    fake = FakeModel()
    fake_internet.put("models.test/v1/embeddings", fake)
    settings.SEARCH_EMBEDDINGS_URL, settings.SEARCH_EMBEDDINGS_KEY = "http://models.test/v1", SECRET
    settings.SEARCH_EMBEDDINGS_MODEL = "fake"
    return fake


def find_first(api: Api, query: str) -> str:
    first: str = api.help(query=query)["items"][0]["path"]
    return first


def forget_vectors(catalog: Catalog) -> None:
    """Make a catalog look as in a new process. Tests share it."""
    index = search.get_index(catalog)
    index.embeddings = OpEmbeddings(index.ops)


def embed_catalog() -> None:
    """Do what the poller's thread does, without waiting for its turn."""
    search.warm_catalog(cache.get_live_catalog())
    op_embeddings.complete(get_embeddings())


def run_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the poller start its thread, and wait for that to end."""
    monkeypatch.setattr(op_embeddings, "_next_run", 0.0)
    search.refresh_embeddings()
    for thread in threading.enumerate():
        if thread.name == "embeddings":
            thread.join(20)


def publish_summary(summary: str) -> None:
    Op.objects.filter(op=MATCHING_OP).update(summary=summary)
    publish_draft()


def get_embeddings() -> OpEmbeddings:
    return search.get_index(cache.get_live_catalog()).embeddings


def test_endpoint_finds_what_no_word_tells(api: Api, model: FakeModel) -> None:
    query = f"{WEATHER_WORD} zzqx"
    assert MATCHING_OP not in [item["path"] for item in api.help(query=query)["items"]]

    embed_catalog()

    assert find_first(api, query) == MATCHING_OP
    assert set(model.keys) == {f"authorization: Bearer {SECRET}"}


def test_each_text_is_sent_once(api: Api, model: FakeModel) -> None:
    embed_catalog()
    sent = sum(map(len, model.inputs))
    assert sent == len(cache.get_live_catalog().ops) == OpEmbedding.objects.count()
    model.inputs.clear()

    publish_summary("Milestones of one project or of all")
    embed_catalog()
    api.help(query="a request")
    api.help(query="a request")

    texts, requests = model.inputs
    assert len(texts) == 1
    assert "Milestones of one project or of all" in texts[0]
    assert requests == ["a request"]


def test_search_goes_on_while_ops_have_no_vectors(api: Api, model: FakeModel) -> None:
    model.answer = lambda _: build_response(b"loading", "503 Service Unavailable")
    search.warm_catalog(cache.get_live_catalog())

    with pytest.raises(EmbeddingsFailed, match="status 503"):
        op_embeddings.complete(get_embeddings())

    assert get_embeddings().vectors is None
    assert find_first(api, "create a task") == "onto.task.create"
    assert model.inputs[1:] == []  # the request was not sent


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>no API here",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1, null]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}',  # another size than the ops have
    ],
)
def test_odd_answers_leave_the_ranking_as_it_is(
    api: Api, model: FakeModel, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    usual = api.help(query="what is late")["items"]
    embed_catalog()
    model.answer = lambda _: build_response(answer)
    caplog.set_level(0)

    assert api.help(query="what is late")["items"] == usual
    assert SECRET not in caplog.text


def test_slow_endpoint_costs_a_search_300_ms_and_three_failures_in_a_row_a_pause(
    api: Api, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_catalog()
    model.inputs.clear()
    usual_ms = embeddings_endpoint.REQUEST_TIMEOUT_MS
    monkeypatch.setattr(embeddings_endpoint, "REQUEST_TIMEOUT_MS", LIMIT_MS)
    may_answer = threading.Event()

    def answer_late(texts: list[str]) -> ResponseBytes:
        may_answer.wait(20)
        return model.embed(texts)

    model.answer = answer_late
    for number in range(5):
        started = time.monotonic()
        assert find_first(api, f"create a task {'x' * number}") == "onto.task.create"
        assert time.monotonic() - started < 10  # the endpoint was not waited for
    may_answer.set()
    assert len(model.inputs) == 3

    model.answer = model.embed
    monkeypatch.setattr(embeddings_endpoint, "REQUEST_TIMEOUT_MS", usual_ms)
    overload.clear_guards()
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP


def test_texts_that_another_process_sends_are_not_sent(api: Api, model: FakeModel) -> None:
    missing = get_embeddings().load()
    op_embeddings._insert_absent(missing)
    _, theirs = op_embeddings._claim(list(missing)[:40])

    with time_machine.travel(timezone.now() + timedelta(hours=1)):  # the clock of this process is wrong
        embed_catalog()
    assert sum(model.sizes) == len(missing) - len(theirs) == len(missing) - 40
    assert get_embeddings().vectors is None

    OpEmbedding.objects.filter(pk__in=theirs).update(held_until=timezone.now() - timedelta(seconds=1))  # it has stopped
    embed_catalog()
    assert sum(model.sizes) == len(missing)
    assert get_embeddings().vectors is not None


def test_vectors_that_nobody_loads_are_deleted(api: Api, model: FakeModel) -> None:
    embed_catalog()
    OpEmbedding.objects.filter(pk=OpEmbedding.objects.first().pk).update(
        used_at=timezone.now() - op_embeddings.KEPT * 2
    )
    count = OpEmbedding.objects.count()

    op_embeddings.delete_unused(timezone.now())

    assert OpEmbedding.objects.count() == count - 1


def test_nothing_is_sent_or_stored_without_an_endpoint(
    api: Api, model: FakeModel, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SEARCH_EMBEDDINGS_URL = ""

    search.warm_catalog(cache.get_live_catalog())
    run_sender(monkeypatch)

    assert find_first(api, "create a task") == "onto.task.create"
    assert model.inputs == []
    assert not OpEmbedding.objects.exists()


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Content Too Large", "422 Unprocessable Content"])
def test_batches_are_halved_until_the_endpoint_takes_them(api: Api, model: FakeModel, status: str) -> None:
    model.answer = lambda texts: model.embed(texts) if len(texts) <= 8 else build_response(b"too many", status)

    embed_catalog()

    assert max(model.sizes) == 8
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP


def test_lease_of_a_batch_is_extended_by_each_of_its_requests(
    api: Api, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answer = lambda texts: model.embed(texts) if len(texts) <= 8 else build_response(b"", "413 Content Too Large")
    send, free = op_embeddings._request_vectors, []

    def send_slowly(texts: Sequence[str]) -> Floats:
        rows = OpEmbedding.objects.filter(text__in=texts)
        free.append(rows.filter(leases.FREE).count())
        rows.update(held_until=timezone.now() - timedelta(seconds=1))
        return send(texts)

    monkeypatch.setattr(op_embeddings, "_request_vectors", send_slowly)
    embed_catalog()

    assert set(free) == {0}
    assert not OpEmbedding.objects.exclude(holder="").exists()


def test_batches_are_halved_when_they_take_too_long(
    api: Api, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(op_embeddings, "BATCH_TIMEOUT_MS", 400)

    def answer_late(texts: list[str]) -> ResponseBytes:
        time.sleep(0.6 if len(texts) > 16 else 0)
        return model.embed(texts)

    model.answer = answer_late
    embed_catalog()

    assert get_embeddings().vectors is not None


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Content Too Large", "500 Internal Server Error"])
def test_a_text_that_fails_alone_is_marked_and_holds_up_no_other(
    api: Api, model: FakeModel, caplog: pytest.LogCaptureFixture, status: str
) -> None:
    model.answer = lambda texts: (
        build_response(b"too long", status) if any(map(is_about_weather, texts)) else model.embed(texts)
    )
    embed_catalog()
    model.inputs.clear()
    forget_vectors(cache.get_live_catalog())
    embed_catalog()

    refused = OpEmbedding.objects.get(vector=None)
    assert "list onto milestones" in refused.text
    assert refused.refused_at is not None
    assert caplog.text.count("embeddings.text_refused") == 1
    assert refused.text_hash in caplog.text
    assert model.inputs == []
    vectors = get_embeddings().vectors
    at = [op.op for op in get_embeddings()._ops].index(MATCHING_OP)
    assert vectors[at] == pytest.approx(np.delete(vectors, at, axis=0).mean(axis=0))  # neither near nor far


def test_a_refused_text_is_sent_again_after_a_week(api: Api, model: FakeModel) -> None:
    model.answer = lambda texts: (
        build_response(b"", "400 Bad Request") if any(map(is_about_weather, texts)) else model.embed(texts)
    )
    embed_catalog()
    OpEmbedding.objects.filter(vector=None).update(
        refused_at=timezone.now() - op_embeddings.REFUSED, held_until=timezone.now() - op_embeddings.REFUSED
    )
    model.answer = model.embed
    forget_vectors(cache.get_live_catalog())
    embed_catalog()

    assert not OpEmbedding.objects.filter(vector=None).exists()
    assert not OpEmbedding.objects.exclude(refused_at=None).exists()
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found", "429 Too Many Requests"])
def test_no_text_is_marked_when_the_endpoint_takes_none(api: Api, model: FakeModel, status: str) -> None:
    model.answer = lambda _: build_response(b"no such model", status)

    with pytest.raises(EmbeddingsFailed, match=f"status {status[:3]}"):
        embed_catalog()

    assert len(model.inputs) <= 7  # 32, 16, 8, 4, 2 texts, one, and one that is always taken
    assert not OpEmbedding.objects.exclude(refused_at=None).exists()
    assert not OpEmbedding.objects.exclude(held_until=None).exists()


def test_another_endpoint_gets_all_texts_though_its_model_has_the_same_name(
    api: Api, model: FakeModel, fake_internet: FakeInternet, settings: Any
) -> None:
    embed_catalog()
    other = FakeModel()
    fake_internet.put("others.test/v1/embeddings", other)
    settings.SEARCH_EMBEDDINGS_URL = "http://others.test/v1"
    forget_vectors(cache.get_live_catalog())

    embed_catalog()

    assert sum(other.sizes) == sum(model.sizes) == OpEmbedding.objects.count() / 2


def test_texts_that_wait_for_another_endpoint_are_not_sent(api: Api, model: FakeModel, settings: Any) -> None:
    model.answer = lambda _: build_response(b"", "503 Service Unavailable")
    with pytest.raises(EmbeddingsFailed):
        embed_catalog()
    settings.SEARCH_EMBEDDINGS_MODEL = "other"
    model.answer = model.embed
    forget_vectors(cache.get_live_catalog())

    embed_catalog()

    assert sum(model.sizes) == OpEmbedding.objects.filter(vector=None).count() == OpEmbedding.objects.count() / 2


def test_a_key_in_the_url_is_no_part_of_the_space(settings: Any) -> None:
    settings.SEARCH_EMBEDDINGS_MODEL = "fake"
    spaces = set()
    for url in ("https://models.test/v1?key=hunter2", "https://models.test/v1/embeddings?key=hunter3"):
        settings.SEARCH_EMBEDDINGS_URL = url
        spaces.add(embeddings_endpoint.describe_space())

    assert spaces == {"models.test:None/v1/embeddings fake"}


def test_vectors_of_another_size_are_embedded_again(
    api: Api, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    embed_catalog()
    count = OpEmbedding.objects.count()
    model.answer = model.embed_in_three_numbers
    publish_summary("Milestones of one project or of all")
    cache.get_live_catalog()

    embed_catalog()
    embed_catalog()

    assert get_embeddings().vectors.shape == (count, 3)
    assert caplog.text.count("embeddings.size_changed size=3") == 1
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP


def test_a_request_of_another_size_has_all_texts_embedded_again_once_an_hour(
    api: Api, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    embed_catalog()
    find_first(api, f"{WEATHER_WORD} zzqx")  # caches a vector of the size before
    model.answer = model.embed_in_three_numbers

    assert MATCHING_OP not in [item["path"] for item in api.help(query=f"{WEATHER_WORD} zzqj")["items"]]
    embed_catalog()
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP
    assert caplog.text.count("embeddings.size_changed size=3") == 1

    model.answer = model.embed  # two models behind one address
    api.help(query="anything else")
    assert get_embeddings().vectors is not None


def test_waiting_texts_are_written_once(api: Api, model: FakeModel) -> None:
    model.answer = lambda _: build_response(b"", "503 Service Unavailable")
    with pytest.raises(EmbeddingsFailed):
        embed_catalog()

    with CaptureQueriesContext(connection) as queries, pytest.raises(EmbeddingsFailed):
        embed_catalog()

    assert len(model.inputs) == 2
    assert not [query["sql"] for query in queries if query["sql"].startswith("INSERT")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_poller_makes_no_query_and_its_thread_holds_no_connection_while_it_waits(
    api: Api, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.get_live_catalog()
    opened: list[Any] = []

    with CaptureQueriesContext(connection) as queries:
        run_sender(monkeypatch)
    assert len(queries) == 0
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP

    mine = connections["default"]

    def answer_and_look(texts: list[str]) -> ResponseBytes:
        opened.append(mine.connection)
        return model.embed(texts)

    model.answer = answer_and_look
    OpEmbedding.objects.all().delete()
    forget_vectors(cache.get_live_catalog())
    op_embeddings.complete(get_embeddings())
    assert opened
    assert set(opened) == {None}


@pytest.mark.django_db(transaction=True)
def test_the_pause_doubles_while_the_endpoint_fails(
    api: Api, model: FakeModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model.answer = lambda _: build_response(b"", "503 Service Unavailable")
    pauses = []
    for _ in range(7):
        run_sender(monkeypatch)
        pauses.append(op_embeddings._next_run - time.monotonic())
    search.refresh_embeddings()  # not due

    assert pauses == pytest.approx([10, 20, 40, 80, 160, 300, 300], abs=5)
    assert len(model.inputs) == 7
    assert "embeddings.failed reason=status 503 retry_in_s=300" in caplog.text

    model.answer = model.embed
    run_sender(monkeypatch)
    assert op_embeddings._pause == op_embeddings.POLL_SECONDS


@pytest.mark.parametrize(
    ("status", "requests"),
    [("400 Bad Request", 6), ("401 Unauthorized", 3), ("500 Internal Server Error", 3)],
)
def test_only_what_is_about_the_endpoint_counts_as_its_failure(
    api: Api, model: FakeModel, status: str, requests: int
) -> None:
    embed_catalog()
    model.inputs.clear()
    model.answer = lambda _: build_response(b"", status)

    for number in range(6):
        assert find_first(api, f"create a task {'x' * number}") == "onto.task.create"

    assert len(model.inputs) == requests


def test_exact_matches_and_suggestions_do_not_need_the_endpoint(api: Api, model: FakeModel) -> None:
    embed_catalog()
    model.inputs.clear()

    summary = cache.get_live_catalog().ops["onto.task.list"].summary.lower().rstrip(".")
    for query in ("onto.task.list", "List onto tasks", "list_onto_tasks", summary):
        assert find_first(api, query) == "onto.task.list"
    for op in ("remind_me_of_things", "onto.tusk.lists"):
        assert api.post("exec", {"op": op, "args": {}}).json()["error"]["code"] == "NOT_FOUND"
    assert api.post("help", {"path": "onto.tusk.lists"}).json()["error"]["details"]["did_you_mean"]

    assert model.inputs == []


@pytest.mark.parametrize("common", [0.0, 2.0])  # cosines of what is unrelated are around 0 or around 0.8
def test_what_is_near_no_op_matches_none(api: Api, model: FakeModel, common: float) -> None:
    model.answer = lambda texts: model.build_answer([build_real_looking_vector(text, common) for text in texts])
    embed_catalog()

    for query in ("asdf qwerty", "sing a song"):
        assert not {item["path"] for item in api.help(query=query)["items"]} & cache.get_live_catalog().ops.keys()
    assert [item["path"] for item in api.help(query=f"{WEATHER_WORD} zzqx")["items"]] == [MATCHING_OP]


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://models.test/v1", "/v1/embeddings"),
        ("http://models.test/v1/embeddings/", "/v1/embeddings"),
        ("http://models.test", "/embeddings"),
        ("http://models.test/deployments/x?api-version=2024-02-01", "/deployments/x/embeddings?api-version=2024-02-01"),
        ("http://models.test/x/embeddings?api-version=1&a=b/", "/x/embeddings?api-version=1&a=b/"),
    ],
)
def test_only_the_path_of_the_url_is_extended(
    fake_internet: FakeInternet, model: FakeModel, settings: Any, url: str, target: str
) -> None:
    fake_internet.put(f"models.test{target.partition('?')[0]}", model)
    settings.SEARCH_EMBEDDINGS_URL = url

    embeddings_endpoint.embed_texts(["a text"], deadline=Deadline.after(milliseconds=5_000))

    assert fake_internet.requests[-1].startswith(f"POST {target} HTTP/1.1".encode())
