"""Load the shipped catalog or uploaded files into the draft, keeping the edits of admins."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import cast

from django.db import transaction

from registry import vocabulary
from registry.checks import errors
from registry.drafts import merge
from registry.drafts.merge import MergeReport
from registry.files import yaml_format
from registry.models import Op, Vocabulary
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import Snapshot, VocabularyEntry

OWN_FOLDER = Path(__file__).parent.parent / "shipped"  # the ops that the gateway runs itself
SHIPPED_SOURCE = ""  # the source of shipped rows and of rows that admins added
MAX_TOTAL_BYTES = 5_000_000  # bytes of all files together, uncompressed
MAX_FILES = 500  # files
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
)


_app_folders: tuple[Path, ...] = ()


def set_app_folders(folders: Iterable[Path]) -> None:
    """Set the folders with the copy of installed apps."""
    global _app_folders
    _app_folders = tuple(folders)
    vocabulary.set_shipped_folders((OWN_FOLDER, *_app_folders))


def read_shipped_catalog() -> Snapshot:
    """Return the shipped catalog, with those of the installed apps, as a snapshot. Raises InvalidCatalogFiles."""
    paths = sorted(
        (path for folder in (OWN_FOLDER, *_app_folders) for path in folder.glob("*.yaml")), key=attrgetter("name")
    )
    content = yaml_format.parse_files({"/".join(path.parts[-3:]): path.read_bytes() for path in paths}, alone=False)
    joined = vocabulary.join_entries(COPY_KINDS[Kind.VOCABULARY].get_entries(content))
    content["vocabulary"] = cast("list[VocabularyEntry]", joined)
    if problems := errors.find_errors(content):
        raise yaml_format.InvalidCatalogFiles(problems)
    return content


@transaction.atomic
def load_into_draft(content: Snapshot) -> MergeReport:
    """Merge a snapshot of shipped copy into the draft and report what was done. Imported rows are left alone."""
    report = MergeReport()
    merge.merge_of_source(Kind.GROUP, content["groups"], source=SHIPPED_SOURCE, report=report)
    words = COPY_KINDS[Kind.VOCABULARY].get_entries(content)
    merge.merge_of_source(Kind.VOCABULARY, words, source=SHIPPED_SOURCE, report=report)
    merge.merge_ops(content["ops"], source=SHIPPED_SOURCE, report=report)
    paths = {entry["op"] for entry in content["ops"]}
    shipped = Op.objects.filter(source=SHIPPED_SOURCE, shipped__isnull=False).values_list("op", flat=True)
    report.no_longer_shipped = sorted(path for path in shipped if path not in paths)
    names = set(map(COPY_KINDS[Kind.VOCABULARY].get_name, words))
    rows = Vocabulary.objects.filter(source=SHIPPED_SOURCE, shipped__isnull=False)
    report.no_longer_shipped += sorted({COPY_KINDS[Kind.VOCABULARY].get_row_name(row) for row in rows} - names)
    for kind in (Kind.SECTION, Kind.AGENT, Kind.PIN):
        copy_kind = COPY_KINDS[kind]
        merge.merge_shipped(copy_kind, copy_kind.get_entries(content), report=report)
    return report


class UnreadableUpload(Exception):
    """The upload has no YAML files or is too large. The message says what to do."""


def read_yaml_files(uploads: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return {file name: bytes} of the uploaded YAML files, including those in archives. Raises UnreadableInput."""
    yaml_files: dict[str, bytes] = {}
    for name, data in uploads:
        for file, text in _unpack_archive(data) if zipfile.is_zipfile(io.BytesIO(data)) else [(name, data)]:
            if file.endswith((".yaml", ".yml")):
                yaml_files[file] = text
    if not yaml_files:
        raise UnreadableUpload("No YAML files found. Choose exported files, or a ZIP archive of them.")
    if len(yaml_files) > MAX_FILES or sum(map(len, yaml_files.values())) > MAX_TOTAL_BYTES:
        raise UnreadableUpload(
            f"More than {MAX_FILES} files or {MAX_TOTAL_BYTES // 1_000_000} MB. Use manage.py catalog import instead."
        )
    return yaml_files


def _unpack_archive(data: bytes) -> Iterator[tuple[str, bytes]]:
    bytes_left = MAX_TOTAL_BYTES + 1
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist()[: MAX_FILES + 1]:
                with archive.open(entry) as file:
                    text = file.read(bytes_left)  # read with a limit: the sizes that an archive declares may be false
                bytes_left -= len(text)
                yield entry.filename, text
                if bytes_left <= 0:
                    return
    except _DAMAGED as error:
        raise UnreadableUpload(f"The archive cannot be read: {error}") from None
