"""Example domain files: read, search, write and edit text files in one folder."""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.handler_contract import OpHandler, OpOutcome, OpRefusal, OpRequest, StateConflict
from demo import sandbox
from demo.refusals import build_invalid_arg_error

MAX_READ_CHARS = 12_000
MAX_MATCHED_LINES = 3  # shown of each file
MAX_LINE_CHARS = 200  # shown of each such line


@dataclass(frozen=True, slots=True)
class FileChange:
    """The new text of a file, and what the answer says about it."""

    path: Path
    text: str
    is_unchanged: bool
    message: str


def read_file(request: OpRequest) -> OpOutcome:
    """Return as many lines of a file as fit."""
    path = sandbox.locate(request.args["file_path"])
    lines = sandbox.read_text(path).splitlines(keepends=True)
    first, limit = request.args["offset"], request.args["limit"]
    if first > max(1, len(lines)):
        message = f"The file has {len(lines)} lines. Send an offset of at most {max(1, len(lines))}."
        raise build_invalid_arg_error("/offset", "beyond_the_end", message)
    shown = _take_lines(lines[first - 1 : first - 1 + limit])
    next_offset = first + len(shown)
    has_more = next_offset <= len(lines)
    content = "".join(shown)
    result: dict[str, Any] = {
        "file_path": sandbox.get_name(path),
        "content": content[:MAX_READ_CHARS],
        "total_lines": len(lines),
        "has_more": has_more,
    }
    if has_more:
        result["next_offset"] = next_offset
    is_cut = len(content) > MAX_READ_CHARS
    result["message"] = f"{_count_lines(len(shown))} from line {first}." if shown else "The file is empty."
    warnings = (f"A line is longer than {MAX_READ_CHARS:,} characters; the rest is left out.",) if is_cut else ()
    return OpOutcome(result, warnings, entity_name=result["file_path"])


def _take_lines(lines: list[str]) -> list[str]:
    """Return the lines that fit, at least one."""
    shown: list[str] = []
    size = 0
    for line in lines:
        size += len(line)
        if shown and size > MAX_READ_CHARS:
            break
        shown.append(line)
    return shown


def search_files(request: OpRequest) -> OpOutcome:
    """Return the files whose path matches a pattern and, if text is given, that contain it."""
    pattern, text, limit = request.args["pattern"], request.args.get("text"), request.args["limit"]
    files: list[dict[str, Any]] = []
    for name, size in sandbox.iterate_files():
        request.deadline.get_remaining_ms()
        if not _matches(name, pattern):
            continue
        lines = _find_lines(name, text) if text else []
        if text and not lines:
            continue
        files.append({"file_path": name, "bytes": size, **({"lines": lines} if lines else {})})
        if len(files) > limit:
            break
    has_more = len(files) > limit
    shown = files[:limit]
    count = f"{len(shown)} file{'' if len(shown) == 1 else 's'}"
    message = f"{count}; there are more. Narrow the pattern." if has_more else f"{count}." if shown else ""
    message = message or 'No file matches. The pattern "*" matches all files.'
    return OpOutcome({"files": shown, "has_more": has_more, "message": message})


def _matches(name: str, pattern: str) -> bool:
    """Whether a path or its last name matches. `**/` also matches no folder."""
    pattern = pattern.removeprefix("./")
    return any(fnmatch.fnmatchcase(each, pattern) for each in (name, f"/{name}", name.rpartition("/")[2]))


def _find_lines(name: str, text: str) -> list[dict[str, Any]]:
    """Return the first lines of a file that contain a text in any case; none if the file is refused."""
    try:
        lines = sandbox.read_text(sandbox.locate(name)).splitlines()
    except OpRefusal:
        return []
    matches = ((number, line) for number, line in enumerate(lines, start=1) if text.lower() in line.lower())
    return [
        {"line": number, "text": line.strip()[:MAX_LINE_CHARS]}
        for (number, line), _ in zip(matches, range(MAX_MATCHED_LINES), strict=False)
    ]


def plan_write(request: OpRequest) -> FileChange:
    """Return the change that writes a file: a new one, over an old one or behind its end."""
    args = request.args
    path = sandbox.locate(args["file_path"])
    sandbox.check_writable(path, args["content"], text_pointer="/content")
    before = sandbox.read_text(path) if path.exists() else None
    if before is not None and args["mode"] == "create":
        raise StateConflict(
            "The file exists; nothing was changed. Send mode overwrite or append, or another path.",
            reason="file_exists",
        )
    text = (before or "") + args["content"] if args["mode"] == "append" else args["content"]
    sandbox.check_writable(path, text, text_pointer="/content")
    verb = "Created" if before is None else "Appended to" if args["mode"] == "append" else "Replaced"
    return FileChange(path, text, before == text, f"{verb} the file; it has {len(text.encode()):,} bytes.")


def plan_edit(request: OpRequest) -> FileChange:
    """Return the change that replaces a text in a file."""
    old, new, replace_all = (request.args[name] for name in ("old_text", "new_text", "replace_all"))
    path = sandbox.locate(request.args["file_path"])
    before = sandbox.read_text(path)
    count = before.count(old)
    if not count:
        message = "The file does not contain this text. Read the file and copy the text exactly, with its spaces."
        raise build_invalid_arg_error("/old_text", "text_not_found", message)
    if count > 1 and not replace_all:
        message = f"The text occurs {count} times. Send more of the text around it, or replace_all true."
        raise build_invalid_arg_error("/old_text", "text_not_unique", message)
    text = before.replace(old, new)
    sandbox.check_writable(path, text, text_pointer="/new_text")
    return FileChange(path, text, before == text, f"Replaced {count} place{'' if count == 1 else 's'}.")


def build_write_handler(plan: Callable[[OpRequest], FileChange]) -> OpHandler[OpRequest]:
    """Return the handler of a write. It plans again under the lock, because the file may have changed since."""

    def apply(request: OpRequest) -> OpOutcome:
        with sandbox.hold_write_lock():
            change = plan(request)
            if not change.is_unchanged:
                sandbox.replace_file(change.path, change.text)
        name = sandbox.get_name(change.path)
        message = "The file has this text already; nothing was changed." if change.is_unchanged else change.message
        warnings = ("unchanged",) if change.is_unchanged else ()
        changed_ids = () if change.is_unchanged else None
        return OpOutcome({"file_path": name, "message": message}, warnings, entity_name=name, changed_ids=changed_ids)

    return OpHandler(apply=apply, prepare=plan)


def _count_lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"
