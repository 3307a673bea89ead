"""The memory and CPU time that processes and the whole machine use, read from /proc (Linux)."""

import os
import time
from pathlib import Path

from benchmarks.figures import NotMeasured

PROC = Path("/proc")


def is_available() -> bool:
    """Whether this system has /proc."""
    return (PROC / "self" / "status").exists()


def require_proc() -> None:
    """Raise NotMeasured without /proc."""
    if not is_available():
        raise NotMeasured("It needs /proc, which this system does not have.")


def get_own_mb() -> float:
    """Return the resident set size of this process, in MB (10^6 bytes)."""
    return _read_mb(PROC / "self" / "status", "VmRSS")


def get_largest_child_mb(pid: int) -> float:
    """Return the resident set size of a process's largest child, in MB (10^6 bytes)."""
    return max(get_mb_by_child(pid).values())


def get_mb_by_child(pid: int) -> dict[str, float]:
    """Return the resident set size of each child of a process, in MB (10^6 bytes)."""
    return {child.name: _read_mb(child / "status", "VmRSS") for child in _list_children(pid)}


def get_largest_child_pss_mb(pid: int) -> float:
    """Return the proportional set size of a process's largest child, in MB (10^6 bytes).

    Memory that several processes have in common is divided among them.
    """
    return max(_read_mb(child / "smaps_rollup", "Pss") for child in _list_children(pid))


def get_cpu_seconds_by_child(pid: int) -> dict[str, float]:
    """Return the CPU time that each child of a process has used so far, user and system, in seconds."""
    return {child.name: get_cpu_seconds(int(child.name)) for child in _list_children(pid)}


def measure_busy_share(seconds: float) -> float:
    """Wait, and return the share of the machine's cores that was busy meanwhile: 0 to 1, or 0 without /proc."""
    if not is_available():
        return 0.0
    idle_before, total_before = _read_machine_ticks()
    time.sleep(seconds)
    idle, total = _read_machine_ticks()
    return 1 - (idle - idle_before) / (total - total_before or 1)


def _read_machine_ticks() -> tuple[int, int]:
    """Return the ticks of all cores since the start: idle ones (also those that wait for a disk), and all."""
    ticks = [int(field) for field in (PROC / "stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def get_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far, user and system, in seconds."""
    # Those after the name, which may have spaces.
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def get_name(pid: int) -> str:
    """Return the name of a process, "0" if it does not run here."""
    return _read_field(PROC / str(pid) / "status", "Name")


def _list_children(pid: int) -> list[Path]:
    return [status.parent for status in PROC.glob("[0-9]*/status") if _read_field(status, "PPid") == str(pid)]


def _read_mb(status: Path, name: str) -> float:
    return int(_read_field(status, name).split()[0]) * 1024 / 1e6


def _read_field(status: Path, name: str) -> str:
    """Return a field of a status file, or "0" if it is missing or the process has ended."""
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return "0"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "0")
