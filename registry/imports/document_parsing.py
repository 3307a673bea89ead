"""Parse a document with its other files, in a process of its own if they are large: they may be anybody's."""

import logging
import pickle

from core import limited_process
from core.database.deadlines import DeadlineExceeded
from core.limited_process import ProcessFailed, ProcessTimedOut
from registry.imports.document_source import MAX_SECONDS, DocumentFiles, HostNotAllowed, UnreadableDocument
from registry.imports.openapi import InvalidDocument, OpenApiDocument
from registry.imports.openapi.parsing import ParsingTask
from registry.imports.openapi.reading import DocumentTooLarge
from registry.imports.openapi.references import OtherHost

log = logging.getLogger(__name__)

MAX_BYTES_HERE = 1_000_000  # larger files are parsed in a process of their own
MAX_VALUES_HERE = 200_000  # likewise: a small file of YAML can grow
MAX_MEMORY = 2_000_000_000  # bytes of address space

_PROGRAM = "registry.imports.openapi.parsing"


def parse_files(files: DocumentFiles) -> OpenApiDocument:
    """Return what a document holds. Loads the files that it refers to. Raises UnreadableDocument.

    Reading begins again with what was loaded, because the process that reads a large document can fetch nothing.
    """
    task = ParsingTask(files.url, files.files)
    try:
        while True:
            document = _parse(task, files)
            if not task.unread:
                return document
            for address in sorted(task.unread):
                _load(address, task, files)
    except InvalidDocument as error:
        raise UnreadableDocument(str(error)) from None
    except DeadlineExceeded:
        raise UnreadableDocument(
            f"The document and its files were not read within {MAX_SECONDS} seconds. Send a part of it."
        ) from None


def _load(address: str, task: ParsingTask, files: DocumentFiles) -> None:
    try:
        files.load(address)
    except HostNotAllowed as error:
        task.failures[address] = OtherHost(str(error))
    except UnreadableDocument as error:
        task.failures[address] = InvalidDocument(str(error))


def _parse(task: ParsingTask, files: DocumentFiles) -> OpenApiDocument:
    if files.size <= MAX_BYTES_HERE:
        try:
            return task.parse(MAX_VALUES_HERE)
        except DocumentTooLarge:
            pass
    seconds = files.deadline.get_remaining_ms() / 1000
    try:
        answer = limited_process.run(_PROGRAM, pickle.dumps(task), seconds=seconds, memory=MAX_MEMORY)
    except ProcessTimedOut:
        raise DeadlineExceeded from None
    except ProcessFailed as error:
        log.warning("import.process_failed error=%s", error)
        raise UnreadableDocument("The document needs too much memory to be read. Send a part of it.") from None
    outcome, task.unread = pickle.loads(answer)  # noqa: S301 - our own program wrote it
    if isinstance(outcome, InvalidDocument):
        raise outcome
    document: OpenApiDocument = outcome
    return document
