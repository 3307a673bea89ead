"""Uploaded files: YAML and archives of YAML, and nothing that would exhaust memory."""

import io
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.files import loader


def archive(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, data in files.items():
            zip_file.writestr(name.replace("_", "."), data)
    return out.getvalue()


def test_upload_accepts_files_and_archives_together() -> None:
    files = loader.read_yaml_files(
        [("a.yaml", b"one"), ("copy.zip", archive(b_yaml=b"two", c_yml=b"three", d_txt=b"four"))]
    )

    assert files == {"a.yaml": b"one", "b.yaml": b"two", "c.yml": b"three"}


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ([], "No YAML files found."),
        ([("a.txt", b"one")], "No YAML files found."),
        ([("a.zip", archive(d_txt=b"four"))], "No YAML files found."),
        ([("a.zip", archive(a_yaml=b"x" * 100)[:-30] + b"\x00" * 8)], "No YAML files found."),
        ([("a.zip", archive(a_yaml=b"x").replace(b"a.yaml", b"b.yaml", 1))], "The archive cannot be read:"),
        ([("a.yaml", b"x" * loader.MAX_TOTAL_BYTES), ("b.yaml", b"x")], "More than 500 files or 5 MB."),
        ([("a.zip", archive(a_yaml=b"x" * 50_000_000))], "More than 500 files or 5 MB."),
        ([("a.zip", archive(**{f"{n}_yaml": b"" for n in range(501)}))], "More than 500 files or 5 MB."),
    ],
    ids=range(8),
)
def test_upload_reports_unreadable_files(sent: list[tuple[str, bytes]], message: str) -> None:
    with pytest.raises(loader.UnreadableUpload) as refused:
        loader.read_yaml_files(sent)
    assert str(refused.value).startswith(message)


@given(st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=4)), min_size=1, max_size=4))
def test_damaged_archives_are_refused_with_a_sentence(damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(archive(a_yaml=b"format: 1\n" * 40, b_yaml=b"ops: []\n" * 20))
    for at, content in damage:
        data[at : at + len(content)] = content

    with suppress(loader.UnreadableUpload):
        loader.read_yaml_files([("a.zip", bytes(data))])
