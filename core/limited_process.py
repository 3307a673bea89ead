"""Run a program of ours in a separate process, with limits on its time and memory: for untrusted input.

A parser can stay in C for minutes, where no thread can be stopped, and can take all memory of the server. The process
has an empty environment, so no secrets, and can write no files unless it is allowed to.

As a program, this module sets the limits and runs another one: python -m core.limited_process LIMITS PROGRAM.
"""

import json
import resource
import runpy
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 2  # CPU time on top of the limit; it ends the process if its parent is gone


class ProcessFailed(Exception):
    """The program ended with an error: most often it exceeded its memory limit. The text is its class."""


class ProcessTimedOut(Exception):
    """The program exceeded its time limit."""


def run(program: str, request: bytes, *, seconds: float, memory: int, file_size: int = 0) -> bytes:
    """Return what a program answers to a request: a module, or a file that imports none of our modules.

    `memory` limits its address space and `file_size` each file that it writes, in bytes. Raises ProcessFailed or
    ProcessTimedOut.
    """
    limits = json.dumps([int(seconds) + START_SECONDS, memory, file_size])
    try:
        process = subprocess.run(  # noqa: S603 - our own program; its arguments contain nothing of the request
            [sys.executable, "-E", "-s", "-B", "-m", __name__, limits, program],
            input=request,
            capture_output=True,
            cwd=ROOT,
            env={},
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise ProcessTimedOut from None
    except subprocess.CalledProcessError as error:
        last_line = error.stderr.rstrip().rpartition(b"\n")[2]
        # No cause and no message: the process's output may quote the request.
        raise ProcessFailed(last_line.partition(b":")[0][:80].decode(errors="replace")) from None
    return process.stdout


def set_limits(cpu_seconds: int, memory: int, file_size: int) -> None:
    """Limit this process and those that it starts."""
    _set_limit(resource.RLIMIT_CPU, cpu_seconds)
    _set_limit(resource.RLIMIT_AS, memory)
    _set_limit(resource.RLIMIT_FSIZE, file_size)


def forbid_files() -> None:
    """Let this process open no more files and sockets."""
    _set_limit(resource.RLIMIT_NOFILE, 3)


def main() -> None:
    """Set the limits and run the program."""
    set_limits(*json.loads(sys.argv[1]))
    program = sys.argv.pop(2)
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _set_limit(what: int, value: int) -> None:
    with suppress(ValueError, OSError):  # macOS has no address space limit; the parent still enforces the time limit
        resource.setrlimit(what, (value, value))


if __name__ == "__main__":
    main()
