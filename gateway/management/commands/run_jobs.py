import signal
import threading
from argparse import ArgumentParser
from queue import SimpleQueue
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import logs
from core.background import poller
from core.manifest import PollerThread
from gateway.jobs import runner
from gateway.jobs.job_loop import JobLoop

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


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
        """Run the loop in a thread, and wait for it or for a signal. A second signal ends the process at once.

        This thread waits for a queue, whose `put` a signal handler may call. It does not join the other thread before
        that: up to Python 3.12, a `join` that a signal handler interrupts takes a running thread for one that ended.
        """
        threading.excepthook = logs.log_thread_failure
        loop = JobLoop()
        stops: SimpleQueue[bool] = SimpleQueue()  # whether a signal is the reason

        def run_loop() -> None:
            try:
                loop.run()
            finally:
                stops.put(False)

        def stop(*_: object) -> None:
            for each in STOP_SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            stops.put(True)

        for each in STOP_SIGNALS:
            signal.signal(each, stop)
        # This process answers no calls, so it leaves those of others alone.
        poller.start([PollerThread.MEMORY, PollerThread.RELEASES])
        thread = threading.Thread(target=run_loop, name="jobs", daemon=True)
        thread.start()
        self.stdout.write("Running periodic jobs.")
        self.stdout.flush()
        if not stops.get():
            raise CommandError("The thread that runs jobs has ended; the log says why.")
        loop.stop()
        thread.join()
