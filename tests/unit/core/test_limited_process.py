"""A program for untrusted input runs with limits on time, memory and files, and without the environment."""

import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from core import limited_process
from core.limited_process import ProcessFailed, ProcessTimedOut

MEMORY = 256 * 1024 * 1024


@pytest.fixture
def run(tmp_path: Path):
    """Run these lines as a program, and return what it writes."""

    def run_lines(lines: str, *, seconds: float = 20, **limits: int) -> str:
        program = tmp_path / "program.py"
        program.write_text(f"import os, socket, sys\nfrom core import limited_process\nMEMORY = {MEMORY}\n{lines}\n")
        return limited_process.run(str(program), b"hello", seconds=seconds, memory=MEMORY, **limits).decode()

    return run_lines


def test_memory_limit_holds_while_the_program_runs(run) -> None:
    take = "\ntry: b'x' * (MEMORY {})\nexcept MemoryError: print('refused', end='')\nelse: print('given', end='')"

    assert run(take.format("// 4")) == "given"
    assert run(take.format("+ 0")) == "refused"


@pytest.mark.parametrize(
    "lines",
    [
        "limited_process.forbid_files(); socket.socket()",
        "limited_process.forbid_files(); open('/etc/passwd')",
        "open(sys.argv[0] + '.txt', 'w', buffering=1).write('x\\n')",
        "sys.exit(1)",
    ],
    ids=["sockets", "files", "writes", "error"],
)
def test_program_ends_at_its_limits(run, lines: str) -> None:
    with pytest.raises(ProcessFailed):
        run(lines)


def test_program_reads_its_request_and_may_write_files_if_it_is_allowed_to(run) -> None:
    lines = "print(sys.stdin.read().upper(), open(sys.argv[0] + '.txt', 'w').write('x'))"

    assert run(lines, file_size=100) == "HELLO 1\n"


def test_program_is_stopped_after_its_time(run) -> None:
    with pytest.raises(ProcessTimedOut):
        run("while True: pass", seconds=1)


def test_program_has_no_environment(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "never passed on")
    monkeypatch.setattr(subprocess, "run", Mock(wraps=subprocess.run))

    assert run("print(os.environ.get('SECRET_KEY'), end='')") == "None"
    assert [call.kwargs["env"] for call in subprocess.run.call_args_list] == [{}]
