"""Names of ops that were made up, or that an import brings: each is resolved without a look at all ops."""

import pytest

from gateway.execution import op_guesses
from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.vocabulary import CatalogVocabulary
from tests.support.growth import assert_linear
from tests.support.rows.op_entries import build_catalog, build_content, build_op_entry


@pytest.mark.parametrize("name", ["update_gadget{}", "crm.gadget{}.update", "gadget{}", "get_item"])
def test_names_are_resolved_in_linear_time(name: str) -> None:
    def build(size: int) -> tuple[Catalog, list[str]]:
        entries = [build_op_entry(f"crm.item{at}.get", entity=f"item{at}", action="get") for at in range(size)]
        return build_catalog(*entries), [name.format(at) for at in range(size)]

    def resolve_all(case: tuple[Catalog, list[str]]) -> None:
        catalog, names = case
        for each in names:
            op_guesses.resolve_name(catalog, each)

    assert_linear(resolve_all, build, size=1_000)


def test_delete_is_asked_for_in_general_english_and_in_words_of_the_catalog() -> None:
    words = CatalogVocabulary.build([{"kind": "action", "meaning": "delete", "words": ["bin"]}])

    asked = [
        name for name in ("task.erase", "bin_task", "task.archive") if op_guesses.asks_to_delete(name, vocabulary=words)
    ]

    assert asked == ["task.erase", "bin_task"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("news.list", "a.bulletin.list"),
        ("get_status", "a.status.get"),
        ("statuss_get", "a.status.get"),
        ("list_to_dos", "a.task.list"),
        ("list_auto_docs", ""),  # has to_do only as letters of two words
    ],
)
def test_name_is_read_word_by_word(name: str, path: str) -> None:
    entries = [
        build_op_entry(f"a.{entity}.{action}", entity=entity, action=action)
        for entity, action in [("bulletin", "list"), ("task", "list"), ("status", "get"), ("task", "get")]
    ]
    words = [
        {"kind": "entity", "meaning": "bulletin", "words": ["news"]},
        {"kind": "entity", "meaning": "task", "words": ["to_do"]},
    ]
    catalog = builder.build_catalog("v" * 64, build_content(*entries) | {"vocabulary": words})

    assert op_guesses.resolve_name(catalog, name) == path
