"""Files of copy that a browser sends: YAML, or a ZIP archive of it."""

import io
import zipfile
from collections.abc import Iterable, Iterator

LARGEST = 5_000_000  # bytes of all files together, unpacked
MOST = 500  # files


class Unreadable(Exception):
    """What was sent is not files of copy, or too much of them; the text says what to do."""


def texts(sent: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the YAML files of what was sent, (name, bytes), archives unpacked. Raises Unreadable."""
    found: dict[str, bytes] = {}
    for name, data in sent:
        for file, text in _unpacked(data) if zipfile.is_zipfile(io.BytesIO(data)) else [(name, data)]:
            if file.endswith((".yaml", ".yml")):
                found[file] = text
    if not found:
        raise Unreadable("None of this is YAML. Choose files that an export of copy wrote, or the archive of them.")
    if len(found) > MOST or sum(map(len, found.values())) > LARGEST:
        raise Unreadable(f"It is more than {MOST} files or {LARGEST // 1_000_000} MB. Use manage.py catalog import.")
    return found


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = LARGEST + 1
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist()[: MOST + 1]:
                with archive.open(entry) as file:
                    text = file.read(left)  # what an archive says of its sizes need not be so
                left -= len(text)
                yield entry.filename, text
                if left <= 0:
                    return
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"The archive cannot be read: {error}") from None
