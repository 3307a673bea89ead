"""Parse the files of one document. As a program: a large one, in a separate process.

`registry.imports.import_document` starts it. The process can open no files or sockets, and needs no settings.
"""

import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from core import limited_process
from registry.imports.openapi.document import OpenApiDocument, parse_document
from registry.imports.openapi.references import MAX_VALUES, InvalidDocument, OtherHost
from registry.text import tool_name_words

MAX_FILES = 400  # that are asked for, there or not
MAX_RESULT = 100_000_000  # bytes


@dataclass
class ParsingTask:
    """The files of a document, and why others that it refers to are missing. `unread` were not tried yet."""

    url: str
    files: Mapping[str, bytes]
    failures: dict[str, Exception] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)

    def parse(self, most_values: int = MAX_VALUES) -> OpenApiDocument:
        """Return the document, from the files that are there. Raises InvalidDocument."""
        self.unread.clear()
        return parse_document(self.files[self.url], load=self._load, url=self.url, most_values=most_values)

    def _load(self, address: str) -> bytes:
        if address in self.files:
            return self.files[address]
        if address not in self.failures:
            if len(self.unread) + len(self.failures) >= MAX_FILES:
                raise OtherHost(f"The document refers to more than {MAX_FILES} other files.")
            self.unread.add(address)
            raise InvalidDocument("It is not read yet.")
        raise self.failures[address]


def main() -> None:
    """Parse the files of the task on standard input, and write the document or the error, and what was not read."""
    task: ParsingTask = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process wrote it
    tool_name_words.load_dictionaries()
    limited_process.forbid_files()
    try:
        outcome: OpenApiDocument | InvalidDocument = task.parse()
    except InvalidDocument as error:
        outcome = error
    answer = pickle.dumps((outcome, task.unread))
    if len(answer) > MAX_RESULT:
        answer = pickle.dumps((InvalidDocument("The document has too much to import. Send a part of it."), set()))
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()
