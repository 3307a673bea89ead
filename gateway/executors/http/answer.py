"""Read the answer of an upstream into the result of a call: data, else a text, else a stored file.

Services bend the rules of JSON, name encodings that they do not use, and send JSON as text. Whatever the answer is, it
becomes a result, with a remark on what had to be changed or guessed.
"""

import re
from typing import Any

import httpx2

from core import http
from core.http import sse
from core.records import record
from core.text import decoding
from core.text.lenient_json import LenientReader, looks_like_json
from gateway.contracts.errors import InternalError
from gateway.executors.base import UpstreamCall
from gateway.executors.http import event_rows
from gateway.executors.http.request_body import get_base_type, is_json_type
from gateway.executors.remote import result_values
from gateway.executors.remote.result_values import (
    DONE,
    add_beside,
    clean_parsed_value,
    clean_value,
    find_data,
    wrap_value,
)
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

EMPTY_STATUSES = frozenset({204, 205})
CREATED_STATUSES = frozenset({201, 202})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TABLE_TYPES = frozenset({"text/csv", "application/csv", "text/x-csv", "text/tab-separated-values"})
LINE_TYPES = sse.LINE_TYPES
TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in (
        *("xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "ecmascript", "typescript", "sql", "graphql"),
        *("x-www-form-urlencoded", "x-sh", "x-subrip", "markdown", "jwt", "n-triples", "n-quads", "trig"),
        *("sparql-query", "x-tex", "x-latex", "mbox", "csv"),
    )
)
MAX_LINK = 2_000  # characters
FILE_NAME = "answer"
_BINARY_CHARACTERS = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1d]")  # controls that no text has


@record
class ReadAnswer:
    """A result, remarks on what is not as the service sent it, and whether `result["text"]` is a table."""

    result: dict[str, Any]
    remarks: tuple[str, ...] = ()
    is_table: bool = False


def read_result(
    response: http.Response, work: UpstreamCall, *, accept: str, redactor: Redactor = NO_SECRETS
) -> ReadAnswer:
    """Return the result of an answer with a success status.

    Raises InternalError (upstream_broken) for a read that gets a web page instead of JSON, which is often a page to
    sign in. A write is done, whatever its answer is.
    """
    answer = _read_body(response, work, accept=accept, redactor=redactor)
    links = {name: redactor.redact_text(link) for name, link in _find_links(response).items()}
    return ReadAnswer(add_beside(answer.result, links), answer.remarks, answer.is_table)


def _read_body(response: http.Response, work: UpstreamCall, *, accept: str, redactor: Redactor) -> ReadAnswer:
    body = b"" if response.status in EMPTY_STATUSES else response.body
    content_type, parameters = http.parse_parameters(response.headers, "content-type")
    base = get_base_type(content_type)
    if response.unread is not None and base in LINE_TYPES:
        body = body[: body.rfind(b"\n") + 1]  # the last line is not whole
    if base == sse.EVENT_STREAM:
        reader = LenientReader()
        rows = event_rows.build_rows(body, reader, is_open=response.unread is not None)
        return ReadAnswer(redactor.redact_value(clean_value(rows, reader)), reader.remarks)
    if not body.strip():
        return ReadAnswer(dict(DONE))
    disposition, named = http.parse_parameters(response.headers, "content-disposition")
    is_json = is_json_type(base) or base in LINE_TYPES
    if is_json or (disposition != "attachment" and (is_text_type(base) or not base)):
        charset = parameters.get("charset", "")
        decoded = decoding.decode(body, charset, decoding.find_declared_charset(body) if is_markup(base) else "")
        if not (decoded.remark and _BINARY_CHARACTERS.search(decoded.text)):
            return _read_text(decoded, base, work, accept=accept, redactor=redactor)
        base = "application/octet-stream"
    if response.unread is not None:
        return ReadAnswer(dict(DONE))  # a part of a file is of no use
    name = redactor.redact_text(named.get("filename") or FILE_NAME)
    file_type = redactor.redact_text(base) or "application/octet-stream"
    return ReadAnswer({"file": result_values.store_file(work, name, file_type, redactor.redact_bytes(body))})


def _read_text(
    decoded: decoding.DecodedText, base: str, work: UpstreamCall, *, accept: str, redactor: Redactor
) -> ReadAnswer:
    """Return the data that a text is, else the text."""
    is_json, is_lines = is_json_type(base), base in LINE_TYPES
    guesses = (f"The answer {decoded.remark}.",) if decoded.remark else ()
    reader = LenientReader()
    if is_json or is_lines or looks_like_json(decoded.text):
        data = find_data(decoded.text, reader, is_json=is_json, is_lines=is_lines)
        if data is not None:
            result = wrap_value(redactor.redact_value(clean_parsed_value(data, decoded.text, reader)))
            return ReadAnswer(result, (*guesses, *reader.remarks))
    if base in HTML_TYPES and not accepts_web_pages(accept) and not work.op.is_write:
        raise _build_broken_error("it is a web page, not JSON")
    if (is_json or is_lines) and not reader.remarks:
        guesses = (*guesses, "The answer is not valid JSON and is shown as text.")
    elif base in HTML_TYPES and not accepts_web_pages(accept):
        guesses = (*guesses, "The answer is a web page, not JSON, and is shown as text.")
    text = cleanup.strip_hidden_characters(redactor.redact_text(reader.repair(decoded.text)))
    return ReadAnswer({"text": text}, (*guesses, *reader.remarks), is_table=base in TABLE_TYPES)


def accepts_web_pages(accept: str) -> bool:
    """Return whether the document of a service says that an operation answers a web page."""
    names = {get_base_type(each) for each in accept.split(",")}
    return not names.isdisjoint({*HTML_TYPES, "text/*"})


def is_text_type(base: str) -> bool:
    """Return whether a content type, without its parameters, is text that a model can read."""
    return base.startswith("text/") or base.endswith(("+xml", "+yaml")) or base in TEXT_TYPES or base in LINE_TYPES


def is_markup(base: str) -> bool:
    """Return whether a content type is HTML or XML, which say their encoding in their first lines."""
    return base.endswith(("html", "xml"))


def _find_links(response: http.Response) -> dict[str, str]:
    """Return where the row is that was created, and the next page, as the headers say it."""
    links: dict[str, str] = {}
    is_created = response.status in CREATED_STATUSES or not response.body.strip()
    for name in ("location", "operation-location", "content-location"):
        if is_created and (location := _clean_link(response.headers.get(name, ""))):
            links["location"] = location
            break
    link = response.headers.get("link", "")
    if "next" in link and len(link) <= http.MAX_PARAMETERS * 4:
        target = httpx2.Response(200, headers={"link": link}).links.get("next", {}).get("url", "")
        links |= {"next": url} if (url := _clean_link(target)) else {}
    return links


def _clean_link(link: str) -> str:
    """Return a link in one word without invisible characters; "" if it is none or too long."""
    link = cleanup.strip_hidden_characters(link.strip())
    return link if len(link) <= MAX_LINK and not any(map(str.isspace, link)) else ""


def _build_broken_error(problem: str) -> InternalError:
    return InternalError(
        f"The service's answer cannot be read: {problem}. Tell the administrator.", status=502, reason="upstream_broken"
    )
