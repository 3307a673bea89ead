"""The folder that the example domains read and write. Nothing outside it is read or written.

A path is relative and has no `..`, and no part of it is a symbolic link. A file is regular, UTF-8 text and at most
1 MB. Errors say what to send instead; they do not repeat what was sent.
"""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.handler_contract import InvalidArgs, NotFound, Unavailable
from core.text import english
from demo.refusals import build_invalid_arg_error, build_not_loaded_error, get_data_folder

MAX_FILE_BYTES = 1_000_000
MAX_FILES = 200
MAX_DEPTH = 8  # folders
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")


def get_folder() -> Path:
    """Return the folder. Raises NotSetUp if it was never created."""
    folder = get_data_folder() / "files"
    if not folder.is_dir():
        raise build_not_loaded_error()
    return folder


def locate(text: str, *, pointer: str = "/file_path") -> Path:
    """Return the path of a file or folder that may not exist yet. Raises InvalidArgs if it is refused."""
    if text.startswith("/") or _DRIVE.match(text):
        raise build_invalid_arg_error(
            pointer,
            "absolute_path",
            "Send the path inside the folder, such as config/database.yaml, without a slash in front.",
            send=_correct_absolute_path(text, pointer),
        )
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        message = "A path with .. is refused. Send the path inside the folder, such as config/database.yaml."
        raise build_invalid_arg_error(pointer, "path_leaves_folder", message)
    if _CONTROL_CHARACTER.search(text) or "\\" in text or any(len(part.encode()) > 200 for part in parts):
        message = "Send a path of names of at most 200 bytes with / between them, such as config/database.yaml."
        raise build_invalid_arg_error(pointer, "invalid_path", message)
    if len(parts) > MAX_DEPTH:
        raise build_invalid_arg_error(pointer, "too_deep", f"Send a path with at most {MAX_DEPTH} names.")
    path = get_folder()
    for part in parts:
        path /= part
        if path.is_symlink():
            message = "The path has a symbolic link, which is refused. Send the path of a file that files.search lists."
            raise build_invalid_arg_error(pointer, "symbolic_link", message)
    return path


def read_bytes(path: Path, *, pointer: str = "/file_path") -> bytes:
    """Return the content of a file. Raises NotFound, or InvalidArgs if the file is refused."""
    if path.is_dir():
        message = "This is a folder. Send the path of a file in it; files.search lists the files."
        raise build_invalid_arg_error(pointer, "is_a_folder", message)
    try:
        # NONBLOCK: opening a named pipe must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise _build_not_found_error(path) from None
    except OSError:  # not readable, or replaced by a link since it was located
        raise _build_file_refused_error(pointer) from None
    with os.fdopen(descriptor, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = file.read(MAX_FILE_BYTES + 1) if is_regular else b""
    if not is_regular or len(data) > MAX_FILE_BYTES:
        raise _build_file_refused_error(pointer)
    return data


def decode_text(data: bytes, *, pointer: str = "/file_path") -> str:
    """Return the content of a file as text. Raises InvalidArgs if it is not UTF-8 text."""
    if b"\x00" not in data:
        with suppress(UnicodeDecodeError):
            return data.decode()
    message = "The file is not UTF-8 text. Send the path of a text file, such as config/database.yaml."
    raise build_invalid_arg_error(pointer, "not_text", message)


def read_text(path: Path) -> str:
    """Return the text of a file. Raises as `read_bytes` and `decode_text` do."""
    return decode_text(read_bytes(path))


def iterate_files() -> Iterator[tuple[str, int]]:
    """Yield the path and size in bytes of each regular file, in order of path, at most MAX_FILES."""
    root, count = get_folder(), 0
    for folder, folder_names, file_names in os.walk(root):  # does not follow links
        folder_names.sort()
        for name in sorted(file_names):
            path = Path(folder, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                if count == MAX_FILES:
                    return
                count += 1
                yield path.relative_to(root).as_posix(), status.st_size


@contextmanager
def hold_write_lock() -> Iterator[None]:
    """Let only one call write at a time, in all processes of this machine."""
    descriptor = os.open(get_data_folder() / "write.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises Unavailable if it cannot be written."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=get_data_folder(), delete=False) as file:
            temporary = Path(file.name)
            file.write(text.encode())
        temporary.replace(path)
    except OSError:
        if temporary:
            temporary.unlink(missing_ok=True)
        raise Unavailable("The file cannot be written; nothing was changed. Try again later.") from None


def check_writable(path: Path, text: str, *, text_pointer: str) -> None:
    """Raise InvalidArgs if a file with this text cannot be written here."""
    if len(text.encode()) > MAX_FILE_BYTES:
        message = f"The file would be larger than {MAX_FILE_BYTES:,} bytes. Write the rest to another file."
        raise build_invalid_arg_error(text_pointer, "file_too_large", message)
    if "\x00" in text:
        raise build_invalid_arg_error(text_pointer, "not_text", "Send text without NUL characters.")
    folder = get_folder()
    if path == folder or path.is_dir() or any(each.is_file() for each in path.parents if folder in each.parents):
        message = "Send the path of a file, in a folder: one of these names is a folder or a file already."
        raise build_invalid_arg_error("/file_path", "is_a_folder", message)
    if not path.exists() and sum(1 for _ in iterate_files()) >= MAX_FILES:
        message = f"The folder has {MAX_FILES} files, which is the limit. Write to a file that files.search lists."
        raise build_invalid_arg_error("/file_path", "too_many_files", message)


def get_name(path: Path) -> str:
    """Return the path of a file inside the folder."""
    return path.relative_to(get_folder()).as_posix()


def _correct_absolute_path(text: str, pointer: str) -> dict[str, str] | None:
    """Return the args that correct a path that is right without its first slash."""
    inside = text.lstrip("/")
    if "/" in pointer[1:] or inside not in (name for name, _ in iterate_files()):
        return None
    return {pointer[1:]: inside}


def _build_file_refused_error(pointer: str) -> InvalidArgs:
    message = f"Send the path of a readable file of at most {MAX_FILE_BYTES:,} bytes; files.search lists the sizes."
    return build_invalid_arg_error(pointer, "file_refused", message)


def _build_not_found_error(path: Path) -> NotFound:
    similar = english.find_similar(get_name(path), (name for name, _ in iterate_files()))
    hint = f"Did you mean {', '.join(similar)}?" if similar else "files.search lists the files."
    return NotFound(f"There is no such file. {hint}", reason="not_found", details={"did_you_mean": similar})
