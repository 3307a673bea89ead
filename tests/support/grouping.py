"""Which tests stay in one worker of xdist, because they share what takes long to set up.

pytest-xdist has a mark for it (xdist_group), which its version 3.8 does not find with pytest 9.2.
"""

from xdist.scheduler import LoadScopeScheduling

# The group of a test by the beginning of its address. Each of the others goes to whoever is free.
GROUPS = {
    "tests/browser/": "browser",
    "tests/services/test_start.py": "a checkout that was started once",
    **dict.fromkeys(
        (
            "tests/services/test_events.py",
            "tests/services/test_flags.py",
            "tests/services/test_operating.py",
            "tests/services/test_raw_requests.py",
            "tests/services/test_server.py",
            "tests/services/test_writes.py",
        ),
        "shared server",
    ),
}


class GroupScheduling(LoadScopeScheduling):
    """Hands out the groups first, the largest before the others, then the other tests in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return next((group for beginning, group in GROUPS.items() if nodeid.startswith(beginning)), nodeid)
