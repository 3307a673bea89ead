import orjson
import pytest

from benchmarks.orders_document import READ_OPERATION, READ_PATH, build_document
from registry.imports import import_document
from registry.imports.document_source import DocumentFiles
from registry.imports.import_document import Selection

URL = "http://127.0.0.1:9/openapi.json"


@pytest.mark.parametrize("operations", [5, 40])
def test_every_operation_of_the_document_becomes_an_op(operations: int) -> None:
    document = build_document(operations, "http://127.0.0.1:9")

    read = import_document.read_document(DocumentFiles(URL, {URL: orjson.dumps(document)}))
    source = read.pick(Selection())

    assert (len(source.ops), read.content.refusals) == (operations, ())
    assert document["paths"][READ_PATH]["get"]["operationId"] == READ_OPERATION
