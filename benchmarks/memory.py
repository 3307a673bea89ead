"""The memory that a server's workers use, read from /proc (Linux)."""

from pathlib import Path

PROC = Path("/proc")


def is_told() -> bool:
    """Whether this system has /proc."""
    return (PROC / "self" / "status").exists()


def own_mb() -> float:
    """Return the resident set size of this process, in MB (10^6 bytes)."""
    return _resident_bytes(PROC / "self") / 1e6


def largest_child_mb(pid: int) -> float:
    """Return the resident set size of a process's largest child, in MB (10^6 bytes)."""
    return max(_resident_bytes(child) for child in _children(pid)) / 1e6


def _children(pid: int) -> list[Path]:
    return [status.parent for status in PROC.glob("[0-9]*/status") if _field(status, "PPid") == str(pid)]


def _resident_bytes(process: Path) -> int:
    return int(_field(process / "status", "VmRSS").split()[0]) * 1024


def _field(status: Path, name: str) -> str:
    """Return a field of a status file, or "0" if it is missing or the process has ended."""
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return "0"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "0")
