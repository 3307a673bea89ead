"""Example domain shell: a fixed list of commands, run as processes without a shell.

Callers choose a command and a file. Nothing that they send becomes part of a command line: a folder is the working
directory of the process, and a file is its standard input.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.handler_contract import NotSetUp, OpOutcome, OpRequest, TookTooLong
from demo import sandbox
from demo.refusals import build_invalid_arg_error

MAX_SECONDS = 5.0
MAX_OUTPUT_CHARS = 4_000
PROGRAM_FOLDERS = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A program with its options, what it reads and what it prints."""

    argv: tuple[str, ...]
    reads_folder: bool
    summary: str


COMMANDS = {
    "list": ShellCommand(("ls", "-1p"), reads_folder=True, summary="Names in a folder; those of folders end in /"),
    "count": ShellCommand(("wc",), reads_folder=False, summary="Number of lines, words and bytes of a file"),
    "sort": ShellCommand(("sort",), reads_folder=False, summary="Lines of a text file in alphabetical order"),
    "checksum": ShellCommand(("cksum",), reads_folder=False, summary="CRC checksum and number of bytes of a file"),
}


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command, its working directory and its standard input."""

    name: str
    path: str  # as sent
    folder: Path
    stdin: bytes = b""


def list_commands(_: OpRequest) -> OpOutcome:
    """Return all commands."""
    commands = [
        {"command": name, "runs": " ".join(command.argv), "summary": command.summary}
        for name, command in COMMANDS.items()
    ]
    return OpOutcome({"commands": commands, "message": f"{len(commands)} commands. No others can be run."})


def run_command(request: OpRequest) -> OpOutcome:
    """Run one command."""
    return OpOutcome(_run(_parse_call(request.args), request))


def run_commands(request: OpRequest) -> OpOutcome:
    """Run commands one after the other. If one is refused, none runs."""
    calls = [_parse_call(each, pointer=f"/commands/{index}") for index, each in enumerate(request.args["commands"])]
    results = [_run(call, request) for call in calls]
    return OpOutcome({"results": results, "message": f"{len(results)} commands were run."})


def _parse_call(args: dict[str, Any], *, pointer: str = "") -> CommandCall:
    """Return the call of valid args. Raises InvalidArgs or NotFound if the path is refused."""
    name, pointer = args["command"], f"{pointer}/path"
    text = args.get("path", "")
    path = sandbox.locate(text, pointer=pointer)
    if COMMANDS[name].reads_folder:
        if not path.is_dir():
            message = "Send the path of a folder, such as reports, or leave path out for the whole folder."
            raise build_invalid_arg_error(pointer, "not_a_folder", message)
        return CommandCall(name, text, folder=path)
    if not text:
        raise build_invalid_arg_error(pointer, "required", f"Send the path of the file that {name} reads.")
    data = sandbox.read_bytes(path, pointer=pointer)
    if name == "sort":
        sandbox.decode_text(data, pointer=pointer)
    return CommandCall(name, text, folder=sandbox.get_folder(), stdin=data)


def _run(call: CommandCall, request: OpRequest) -> dict[str, Any]:
    name, *options = COMMANDS[call.name].argv
    program = shutil.which(name, path=PROGRAM_FOLDERS)
    if program is None:
        message = f"This machine has no program {name}, which {call.name} runs. Use another command."
        raise NotSetUp(message)
    seconds = min(MAX_SECONDS, request.deadline.get_remaining_ms() / 1000)
    try:
        process = subprocess.run(  # noqa: S603 - a program of the list above; its arguments contain nothing of the call
            [program, *options],
            input=call.stdin,
            capture_output=True,
            cwd=call.folder,
            env={"PATH": PROGRAM_FOLDERS, "LC_ALL": "C.UTF-8"},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"{call.name} took longer than {seconds:.0f} seconds and was stopped. Send a smaller file."
        raise TookTooLong(message) from None
    output = process.stdout.decode(errors="replace")
    is_cut = len(output) > MAX_OUTPUT_CHARS
    message = f"Only the first {MAX_OUTPUT_CHARS:,} of {len(output):,} characters." if is_cut else "The whole output."
    return {
        "command": call.name,
        "path": call.path,
        "exit_code": process.returncode,
        "output": output[:MAX_OUTPUT_CHARS],
        "message": message,
    }
