"""What an uploaded file claims to be, compared with what it is."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.errors import InvalidRequestError
from gateway.executors.uploads import check_type
from tests.support.loops import for_each

PNG, JPEG, GIF = b"\x89PNG\r\n\x1a\n" + b"\0" * 30, b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\0" * 30, b"GIF89a" + b"\0" * 20
PDF, PROGRAM, ELF = b"%PDF-1.7\n%\xe2\xe3\n", b"MZ\x90\0\x03" + b"\0" * 60, b"\x7fELF\x02\x01\x01" + b"\0" * 60
CSV = b"name;amount\nM\xfcller;1\n"  # in Windows-1252
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
HEIC = b"\0\0\0\x18ftypheic" + b"\0" * 30
DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def build_zip(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "<a/>")
    return file.getvalue()


# name, claimed, content, stored type
TRUE_CLAIMS = [
    ("a.png", "image/png", PNG, "image/png"),
    ("a.jpg", "image/jpg", JPEG, "image/jpg"),
    ("a.heic", "image/heic", HEIC, "image/heic"),
    ("a.pdf", "", PDF, "application/pdf"),  # the name claims it
    ("a.pdf", "application/octet-stream", PDF, "application/pdf"),
    ("noname", "", PNG, "image/png"),
    ("noname", "", b"hello", "text/plain"),
    ("noname", "", b"\0\x01\x02", "application/octet-stream"),
    ("noname", "", build_zip("a.txt"), "application/zip"),
    ("a.csv", "application/vnd.ms-excel", CSV, "text/csv"),  # as Windows sends it
    ("a.csv", "text/csv; charset=windows-1252", CSV, "text/csv; charset=windows-1252"),
    ("a.xls", "application/vnd.ms-excel", OLE, "application/vnd.ms-excel"),
    ("a.docx", DOCX_TYPE, build_zip("word/document.xml"), DOCX_TYPE),
    ("a.zip", "application/x-zip-compressed", build_zip("a.txt"), "application/x-zip-compressed"),
    ("a.exe", "application/x-msdownload", PROGRAM, "application/x-msdownload"),
    ("a.json", "application/json", b'\xef\xbb\xbf {"a": 1}', "application/json"),
    ("a.svg", "image/svg+xml", b"<svg/>", "image/svg+xml"),
    ("a.txt", "text/plain", "grüße".encode("utf-16"), "text/plain"),
    ("a.bin", "application/x-own-format", b"\0\x01", "application/x-own-format"),  # without a signature
]


@for_each("name, claimed, content, stored", TRUE_CLAIMS)
def test_a_file_that_is_what_it_claims_is_taken(name: str, claimed: str, content: bytes, stored: str) -> None:
    assert check_type(name, claimed, content) == stored


# name, claimed, content, what the error says
FALSE_CLAIMS = [
    ("a.png", "image/png", JPEG, "it is image/jpeg"),
    ("a.png", "image/png", b"hello", "it does not begin as one"),
    ("a.pdf", "application/pdf", PROGRAM, "it is application/vnd.microsoft.portable-executable"),
    ("a.pdf", "", b"<html></html>", "application/pdf"),  # the name claims it
    ("a.docx", DOCX_TYPE, PDF, "it is application/pdf"),
    ("a.docx", DOCX_TYPE, b"hello", "it does not begin as one"),
    ("a.zip", "application/zip", GIF, "it is image/gif"),
    ("a.txt", "text/plain", PNG, "it is image/png"),
    ("a.txt", "text/plain", PDF, "it is application/pdf"),
    ("a.csv", "text/csv", ELF, "it is not text"),
    ("a.csv", "application/vnd.ms-excel", PROGRAM, "it is application/vnd.microsoft.portable-executable"),
    ("a.json", "application/json", b"name,amount", "it does not begin as JSON"),
    ("a.svg", "image/svg+xml", b"alert(1)", "it does not begin as XML"),
    ("a.bin", "application/x-own-format", PROGRAM, "it is application/vnd.microsoft.portable-executable"),
]


@for_each("name, claimed, content, message", FALSE_CLAIMS)
def test_a_file_that_is_something_else_is_refused(name: str, claimed: str, content: bytes, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message.replace("+", r"\+")) as refused:
        check_type(name, claimed, content)
    assert (refused.value.status, refused.value.reason) == (415, "file_type_mismatch")


@given(st.binary(min_size=1, max_size=300), st.sampled_from(["", "text/plain", "image/png", "application/json"]))
def test_any_content_is_taken_or_refused(content: bytes, claimed: str) -> None:
    try:
        stored = check_type("file", claimed, content)
    except InvalidRequestError as refused:
        assert refused.status == 415  # noqa: PT017 - both outcomes are valid
    else:
        assert stored == claimed or not claimed
        assert stored != "image/png" or content.startswith(b"\x89PNG")
