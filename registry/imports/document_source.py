"""Where an OpenAPI document comes from (address, files or text), and its operations as ops."""

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from core import http
from core.database.deadlines import Deadline, DeadlineExceeded
from core.http.redirects import DEFAULT_PORTS, REDIRECT_STATUSES
from registry import result_row
from registry.imports.import_source import MAX_SEGMENT, ImportSource, SourceOp
from registry.imports.openapi import OpenApiDocument, Operation
from registry.models import Op
from registry.text import cleanup, flow_words

MAX_BYTES = 50_000_000  # of all files of a document together; the largest public one has 33 MB
MAX_FILES = 200
MAX_SECONDS = 60  # to fetch and read all of them
MAX_REDIRECTS = 5  # to other addresses of the same host, or of hosts that are allowed
MAX_WORD = 60


class UnreadableDocument(Exception):
    """A document cannot be fetched or read. The message says what to do."""


class HostNotAllowed(UnreadableDocument):
    """A document refers to a host that nobody has allowed. It was not called."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"It needs a file of another host, {host[:100]}, which was not called. Import again and allow this host."
        )
        self.host = host


@dataclass
class DocumentFiles:
    """The files of one document by address, and which of them is the document itself.

    More files are fetched when the document refers to them, except if it was uploaded: an address in an uploaded
    document is not called. Hosts other than the document's are called only if they are in `hosts`, because a document
    must not choose which hosts the gateway calls.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    may_fetch: bool = False
    hosts: frozenset[str] = frozenset()
    unasked: dict[str, str] = field(default_factory=dict)  # addresses that need a host that was not called
    deadline: Deadline = field(default_factory=lambda: Deadline.after(milliseconds=MAX_SECONDS * 1000))

    @property
    def document(self) -> bytes:
        return self.files[self.url]

    @property
    def size(self) -> int:
        """How many bytes the files have together."""
        return sum(map(len, self.files.values()))

    @property
    def unasked_hosts(self) -> list[str]:
        return sorted(set(self.unasked.values()))

    def load(self, url: str) -> bytes:
        """Return another file of the document. Raises UnreadableDocument."""
        address = urldefrag(url).url
        if address not in self.files:
            self._check_host(address)
            if not self.may_fetch:
                raise UnreadableDocument(f"The document refers to {_shorten(address)}, which was not sent with it.")
            if len(self.files) >= MAX_FILES:
                raise UnreadableDocument(f"The document refers to more than {MAX_FILES} other files.")
            try:
                _, self.files[address] = fetch(
                    address, self._hosts, deadline=self.deadline, max_bytes=MAX_BYTES - self.size
                )
            except HostNotAllowed as error:
                self._note_unasked(address, error.host)
                raise
        return self.files[address]

    @property
    def _hosts(self) -> frozenset[str]:
        return self.hosts | ({get_host(self.url)} - {""})

    def _check_host(self, address: str) -> None:
        """Raise HostNotAllowed if an address is at a host that must not be called. An uploaded document calls none."""
        host = self.unasked.get(address) or get_host(address)
        if address in self.unasked or (host not in self._hosts and (self.may_fetch or self._hosts)):
            self._note_unasked(address, host)
            raise HostNotAllowed(host)

    def _note_unasked(self, address: str, host: str) -> None:
        if len(self.unasked) < MAX_FILES:
            self.unasked[address] = host

    def compute_digest(self) -> str:
        """Return the hash of all files, except those of other hosts: they are not fetched again to compare them."""
        digest = hashlib.sha256()
        own = ((url, content) for url, content in self.files.items() if get_host(url) in ("", get_host(self.url)))
        for url, content in sorted(own):
            digest.update(hashlib.sha256(url.encode()).digest() + hashlib.sha256(content).digest())
        return digest.hexdigest()

    def to_archive(self) -> bytes:
        """Return the files as a ZIP archive, the document first."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
            for url in sorted(self.files, key=lambda url: url != self.url):
                files.writestr(url, self.files[url])
        return archive.getvalue()


def read_archive(
    content: bytes, hosts: Collection[str] = (), unasked: Mapping[str, str] = MappingProxyType({})
) -> DocumentFiles:
    """Return the files of an archive that `to_archive` made, with the allowed hosts and those that were not called."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        return DocumentFiles(
            names[0], {name: archive.read(name) for name in names}, hosts=frozenset(hosts), unasked=dict(unasked)
        )


def fetch_document(url: str, hosts: Collection[str] = ()) -> DocumentFiles:
    """Return the document at an address. `hosts` may be called besides its own. Raises UnreadableDocument."""
    files = DocumentFiles(url, may_fetch=True, hosts=frozenset(hosts))
    own = {get_host(url), *hosts}
    # The target of redirects is its address from now on: the daily check calls it, and follows no redirect to another
    # host.
    files.url, content = fetch(url, own, deadline=files.deadline, max_bytes=MAX_BYTES)
    files.files[files.url] = content
    return files


def read_path(path: Path, hosts: Collection[str] = ()) -> DocumentFiles:
    """Return the document in a file, with the files below its folder that it refers to. Raises OSError."""
    return _LocalFiles(path.resolve(), frozenset(hosts))


def get_host(url: str) -> str:
    """Return the host of an address, with its port if it is not the usual one; "" for a file."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".")
    return f"{host}:{port}" if port and DEFAULT_PORTS.get(parts.scheme) != port else host


def fetch(url: str, hosts: Collection[str], *, deadline: Deadline, max_bytes: int) -> tuple[str, bytes]:
    """Return the final address and its answer. Only these hosts are called. Raises UnreadableDocument."""
    for _ in range(MAX_REDIRECTS + 1):
        if get_host(url) not in hosts:
            raise HostNotAllowed(get_host(url))
        response = _request(url, deadline, max_bytes)
        location = response.headers.get("location", "")
        if response.status not in REDIRECT_STATUSES or not location:
            break
        url = _join(response.url, location)
    if response.status != 200:
        raise UnreadableDocument(f"{_shorten(url)} answered with status {response.status}. Check the address.")
    return url, response.body


def _request(url: str, deadline: Deadline, max_bytes: int) -> http.Response:
    headers = {"accept": "application/vnd.oai.openapi+json, application/json, application/yaml;q=0.9, */*;q=0.5"}
    try:
        return http.request(
            "GET",
            url,
            headers=headers,
            deadline=deadline,
            max_bytes=max_bytes,
            follow_redirects=False,
            allow=http.get_upstream_networks(),
        )
    except DeadlineExceeded:
        raise UnreadableDocument(f"The document and its files were not fetched within {MAX_SECONDS} seconds.") from None
    except http.OutgoingError as error:
        raise UnreadableDocument(f"{_shorten(url)} cannot be fetched. {error}") from None


def _join(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise UnreadableDocument(f"{_shorten(url)} redirects to an invalid address. Send its final address.") from None


class _LocalFiles(DocumentFiles):
    """A document in a folder. It may refer to files in its folder and below, and to addresses."""

    def __init__(self, path: Path, hosts: frozenset[str]) -> None:
        super().__init__(path.as_uri(), {path.as_uri(): _read_local(path, MAX_BYTES)}, may_fetch=True, hosts=hosts)
        self._folder = path.parent

    def load(self, url: str) -> bytes:
        address = urldefrag(url).url
        parts = urlsplit(address)
        if parts.scheme != "file" or address in self.files:
            return super().load(url)
        path = Path(unquote(parts.path)).resolve()
        if not path.is_relative_to(self._folder):
            raise UnreadableDocument(f"{_shorten(address)} is outside the folder of the document.")
        try:
            self.files[address] = _read_local(path, MAX_BYTES - self.size)
        except OSError as error:
            raise UnreadableDocument(f"{_shorten(address)} cannot be read: {error.strerror}.") from None
        return self.files[address]


def _read_local(path: Path, max_bytes: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise UnreadableDocument(f"The files of the document have more than {MAX_BYTES // 1_000_000} MB together.")
    return content


def _shorten(url: str) -> str:
    """Return an address without its query, which may hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def build_source(document: OpenApiDocument, *, whole: OpenApiDocument) -> ImportSource:
    """Return the operations of a document as ops. `whole` is the document before operations were picked."""
    picked = {operation.name for operation in document.operations}
    tags = Counter(tag for operation in document.operations for tag in operation.tags[:1])
    return ImportSource(
        [_build_op(operation) for operation in document.operations],
        document.refusals,
        other_names=whole.names - picked,
        tools_text=_write_tools(document),
        unit="operations",
        title=document.title,
        topics=[tag for tag, _ in tags.most_common()],
        remarks=document.remarks,
    )


def _build_op(operation: Operation) -> SourceOp:
    mapped, parsed = operation.mapped, operation.parsed
    is_repeated = mapped.description.rstrip(".") == mapped.summary
    fields = {
        "kind": Op.Kind.WRITE if mapped.is_write else Op.Kind.READ,
        "entity": parsed.entity[:MAX_SEGMENT],
        "action": mapped.risk.choose_action(parsed)[:MAX_SEGMENT],
        "category": (operation.tags[0] if operation.tags else "")[:40],
        "summary": mapped.summary,
        "description": "" if is_repeated else mapped.description,
        "notes": mapped.notes,
        "keywords": list(mapped.keywords),
        "request": mapped.request,
        "flow_labels": flow_words.find_flow_labels([operation.tool_name], is_write=mapped.is_write),
        "result_row": result_row.find_row(mapped.answer, parsed.entity),
        "examples": [{"args": args} for args in mapped.examples],
    }
    remarks = [
        *mapped.remarks,
        *mapped.risk.remarks,
        *cleanup.find_remarks([operation.name, mapped.description, mapped.schema]),
    ]
    return SourceOp(
        operation.name,
        parsed,
        operation.tool_name,
        {name: value for name, value in fields.items() if value}
        | {"needs_subject": False, "parameters_schema": mapped.schema},
        remarks,
        confirm=mapped.risk.asks_first,
        documented=mapped.documented,
    )


def _write_tools(document: OpenApiDocument) -> str:
    """Return the operations as a model would get them without a gateway: a list of functions in compact JSON."""
    functions = [
        {"name": each.tool_name, "description": each.mapped.description, "parameters": each.mapped.schema}
        for each in document.operations
    ]
    return json.dumps(functions, ensure_ascii=False, separators=(",", ":"))
