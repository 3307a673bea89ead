"""Where an OpenAPI document comes from: an address, files or text; with the other files that it refers to."""

import hashlib
import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from core import http
from core.deadlines import Deadline

MAX_BYTES = 50_000_000  # of one file; the largest public document has 33 MB
MAX_FILES = 200
FETCH_SECONDS = 60


class UnreadableDocument(Exception):
    """A document cannot be fetched or read. The message says what to do."""


@dataclass
class DocumentFiles:
    """The files of one document by address, and which of them is the document itself.

    More files are fetched when the document refers to them, except if it was uploaded: an address in an uploaded
    document is not called.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    may_fetch: bool = False

    @property
    def document(self) -> bytes:
        return self.files[self.url]

    def load(self, url: str) -> bytes:
        """Return another file of the document. Raises UnreadableDocument."""
        address = urldefrag(url).url
        if address not in self.files:
            if not self.may_fetch:
                raise UnreadableDocument(f"The document refers to {_shorten(address)}, which was not sent with it.")
            if len(self.files) >= MAX_FILES:
                raise UnreadableDocument(f"The document refers to more than {MAX_FILES} other files.")
            self.files[address] = fetch(address)
        return self.files[address]

    def compute_digest(self) -> str:
        """Return the hash of all files."""
        digest = hashlib.sha256()
        for url, content in sorted(self.files.items()):
            digest.update(hashlib.sha256(url.encode()).digest() + hashlib.sha256(content).digest())
        return digest.hexdigest()

    def to_archive(self) -> bytes:
        """Return the files as a ZIP archive, the document first."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
            for url in sorted(self.files, key=lambda url: url != self.url):
                files.writestr(url, self.files[url])
        return archive.getvalue()


def read_archive(content: bytes, *, may_fetch: bool = False) -> DocumentFiles:
    """Return the files of an archive that `to_archive` made."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        return DocumentFiles(names[0], {name: archive.read(name) for name in names}, may_fetch)


def fetch_document(url: str) -> DocumentFiles:
    """Return the document at an address. Raises UnreadableDocument."""
    return DocumentFiles(url, {url: fetch(url)}, may_fetch=True)


def read_path(path: Path) -> DocumentFiles:
    """Return the document in a file, with the files below its folder that it refers to. Raises OSError."""
    return _LocalFiles(path.resolve())


def fetch(url: str) -> bytes:
    """Return what an address answers. Raises UnreadableDocument."""
    headers = {"accept": "application/vnd.oai.openapi+json, application/json, application/yaml;q=0.9, */*;q=0.5"}
    deadline = Deadline.after(milliseconds=FETCH_SECONDS * 1000)
    try:
        response = http.request(
            "GET", url, headers=headers, deadline=deadline, max_bytes=MAX_BYTES, allow=http.get_upstream_networks()
        )
    except http.OutgoingError as error:
        raise UnreadableDocument(f"{_shorten(url)} cannot be fetched. {error}") from None
    if response.status != 200:
        hint = "Send its final address" if 300 <= response.status < 400 else "Check the address"
        raise UnreadableDocument(f"{_shorten(url)} answered with status {response.status}. {hint}.")
    return response.body


class _LocalFiles(DocumentFiles):
    """A document in a folder. It may refer to files in its folder and below, and to addresses."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.as_uri(), {path.as_uri(): path.read_bytes()}, may_fetch=True)
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
            self.files[address] = path.read_bytes()
        except OSError as error:
            raise UnreadableDocument(f"{_shorten(address)} cannot be read: {error.strerror}.") from None
        return self.files[address]


def _shorten(url: str) -> str:
    """Return an address without its query, which may hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]
