"""Read uploaded YAML files, or ZIP archives of them."""

import io
import zipfile
from collections.abc import Iterable, Iterator

LARGEST = 5_000_000  # bytes of all files together, uncompressed
MOST = 500  # files


class Unreadable(Exception):
    """The upload has no YAML files or is too large. The message says what to do."""


def texts(sent: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return {file name: bytes} of the uploaded YAML files, including those in archives. Raises Unreadable."""
    found: dict[str, bytes] = {}
    for name, data in sent:
        for file, text in _unpacked(data) if zipfile.is_zipfile(io.BytesIO(data)) else [(name, data)]:
            if file.endswith((".yaml", ".yml")):
                found[file] = text
    if not found:
        raise Unreadable("No YAML files found. Choose exported files, or a ZIP archive of them.")
    if len(found) > MOST or sum(map(len, found.values())) > LARGEST:
        raise Unreadable(f"More than {MOST} files or {LARGEST // 1_000_000} MB. Use manage.py catalog import instead.")
    return found


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = LARGEST + 1
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist()[: MOST + 1]:
                with archive.open(entry) as file:
                    text = file.read(left)  # read with a limit: the sizes that an archive declares may be false
                left -= len(text)
                yield entry.filename, text
                if left <= 0:
                    return
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"The archive cannot be read: {error}") from None
