"""Search with an embeddings endpoint: ops are embedded once and stored, requests in time or not at all."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.utils import timezone

from registry import search
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.models import Op, OpEmbedding
from registry.releases import publishing
from registry.search import embeddings_endpoint, op_embeddings
from registry.search.embeddings_endpoint import EmbeddingsFailed
from registry.search.op_embeddings import OpEmbeddings
from tests.support.api import Api
from tests.support.fake_internet import FakeInternet
from tests.support.http_servers import ResponseBytes, build_response

SECRET = "sk-hunter2-hunter2"
WEATHER_WORD, MATCHING_OP = "umbrella", "onto.milestone.list"  # nothing but the endpoint sees that they belong together


class FakeModel:
    """An embeddings endpoint whose vectors say one thing: whether a text is about the weather."""

    def __init__(self) -> None:
        self.inputs: list[list[str]] = []
        self.keys: list[str] = []
        self.answer: Callable[[list[str]], ResponseBytes] = self.embed

    def __call__(self, request: bytes) -> ResponseBytes:
        head, _, body = request.partition(b"\r\n\r\n")
        self.keys += [line for line in head.decode().split("\r\n") if line.lower().startswith("authorization")]
        texts = orjson.loads(body)["input"]
        self.inputs.append(texts)
        return self.answer(texts)

    def embed(self, texts: list[str]) -> ResponseBytes:
        vectors = [
            [3.0, 0.0] if WEATHER_WORD in text or "list onto milestones" in text else [0.0, 3.0] for text in texts
        ]
        entries = [{"index": at, "object": "embedding", "embedding": vector} for at, vector in enumerate(vectors)]
        return build_response(orjson.dumps({"data": entries[::-1], "model": "fake"}))  # any order


@pytest.fixture
def model(live_catalog: Catalog, fake_internet: FakeInternet, settings: Any) -> FakeModel:
    """Serve a fake model, and configure it as the endpoint."""
    index = search.get_index(live_catalog)
    index.embeddings = OpEmbeddings(index.ops)  # tests share the catalog
    embeddings_endpoint.clear_state()
    fake = FakeModel()
    fake_internet.put("models.test/v1/embeddings", fake)
    settings.SEARCH_EMBEDDINGS_URL, settings.SEARCH_EMBEDDINGS_KEY = "http://models.test/v1", SECRET
    settings.SEARCH_EMBEDDINGS_MODEL = "fake"
    return fake


def find_first(api: Api, query: str) -> str:
    first: str = api.help(query=query)["items"][0]["path"]
    return first


def embed_catalog() -> None:
    """Do what the poller and its thread do, without waiting for their turns."""
    search.warm(cache.get_live_catalog())
    op_embeddings.send_waiting()
    get_embeddings()._next_look = 0.0
    search.refresh_embeddings()


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

    Op.objects.filter(op=MATCHING_OP).update(summary="Milestones of one project or of all")
    publishing.publish_draft(note="Shorter", by="tests", at=timezone.now())
    cache.refresh_live()
    embed_catalog()
    api.help(query="a request")
    api.help(query="a request")

    texts, requests = model.inputs
    assert len(texts) == 1
    assert "Milestones of one project or of all" in texts[0]
    assert requests == ["a request"]


def test_search_goes_on_while_ops_have_no_vectors(api: Api, model: FakeModel) -> None:
    model.answer = lambda _: build_response(b"loading", "503 Service Unavailable")
    search.warm(cache.get_live_catalog())

    with pytest.raises(EmbeddingsFailed, match="status 503"):
        op_embeddings.send_waiting()

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
        b'{"data": {"index": 0}}',
        b"[]",
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

    def answer_late(texts: list[str]) -> ResponseBytes:
        time.sleep(1)
        return model.embed(texts)

    model.answer = answer_late
    for number in range(5):
        started = time.monotonic()
        assert find_first(api, f"create a task {'x' * number}") == "onto.task.create"
        assert time.monotonic() - started < 0.9
    assert len(model.inputs) == 3

    model.answer = model.embed
    monkeypatch.setattr(embeddings_endpoint, "_paused_until", 0.0)
    assert find_first(api, f"{WEATHER_WORD} zzqx") == MATCHING_OP


def test_two_processes_do_not_send_the_same_texts(api: Api, model: FakeModel) -> None:
    search.warm(cache.get_live_catalog())
    at = timezone.now()

    mine = op_embeddings._claim_batch(at)
    theirs = op_embeddings._claim_batch(timezone.now())

    assert len(mine) == op_embeddings.BATCH_SIZE
    assert not {row.pk for row in mine} & {row.pk for row in theirs}


def test_vectors_that_nobody_loads_are_deleted(api: Api, model: FakeModel) -> None:
    embed_catalog()
    OpEmbedding.objects.filter(pk=OpEmbedding.objects.first().pk).update(
        used_at=timezone.now() - op_embeddings.KEPT * 2
    )
    count = OpEmbedding.objects.count()

    op_embeddings.delete_unused(timezone.now())

    assert OpEmbedding.objects.count() == count - 1


def test_nothing_is_sent_or_stored_without_an_endpoint(api: Api, model: FakeModel, settings: Any) -> None:
    settings.SEARCH_EMBEDDINGS_URL = ""

    embed_catalog()

    assert find_first(api, "create a task") == "onto.task.create"
    assert model.inputs == []
    assert not OpEmbedding.objects.exists()
