import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import logs
from core.background import poller
from core.manifest import PollerThread
from gateway.jobs import runner
from gateway.jobs.job_loop import JobLoop


class Command(BaseCommand):
    help = (
        "Run the periodic jobs that are due, such as deleting expired records, until no work is left. With --forever, "
        "run them whenever they are due, until SIGTERM or Ctrl-C. Production needs at least one such process."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--forever", action="store_true", help="stay, and run each job when it is due")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["forever"]:
            self._run_forever()
            return
        job_names: set[str] = set()
        more = True
        while more:
            results = runner.run_due_jobs(at=timezone.now())
            job_names |= {name for name, _ in results}
            more = any(left for _, left in results)
        poller.join_background_threads()
        self.stdout.write(f"Ran {', '.join(sorted(job_names))}." if job_names else "Nothing is due.")

    def _run_forever(self) -> None:
        """Run the loop in a thread, and wait for it or for a signal. A second signal ends the process at once."""
        threading.excepthook = logs.log_thread_failure
        loop = JobLoop()
        thread = threading.Thread(target=loop.run, name="jobs", daemon=True)
        try:
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, _raise_stopped)
            # This process answers no calls, so it leaves those of others alone.
            poller.start([PollerThread.MEMORY, PollerThread.RELEASES])
            thread.start()
            self.stdout.write("Running periodic jobs.")
            self.stdout.flush()
            thread.join()
        except _Stopped:
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, signal.SIG_DFL)
            loop.stop()
            if thread.is_alive():
                thread.join()
        else:
            raise CommandError("The thread that runs jobs has ended; the log says why.")


class _Stopped(BaseException):
    """The process got a signal. Not an Exception, which a library might swallow."""


def _raise_stopped(*_: object) -> None:
    raise _Stopped
