"""Groups of tests that run in one xdist worker, because they share an expensive setup.

pytest-xdist has a mark for it (xdist_group), which its version 3.8 does not find with pytest 9.2.
"""

from typing import Any

from xdist.scheduler import LoadScopeScheduling

# The group of a test, by the start of its node id. All other tests go to any free worker.
GROUPS = {
    "tests/browser/": "browser",
    "tests/services/test_batches.py": "brokers",
    "tests/services/test_mcp_clients.py": "server of MCP",
    "tests/services/test_single_sign_on.py": "server with single sign-on",
    "tests/services/test_start.py": "started checkout",
    **dict.fromkeys(
        (
            "tests/services/test_chat.py",
            "tests/services/test_clients.py",
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


FEW_WORKERS = 2


class GroupScheduling(LoadScopeScheduling):
    """Schedules the groups first, largest first, then the other tests in their order.

    Few workers have all groups in one of them. It mostly waits for servers and pages, so the others compute meanwhile.
    """

    def _split_scope(self, nodeid: str) -> str:
        group = next((group for beginning, group in GROUPS.items() if nodeid.startswith(beginning)), None)
        if group is None:
            return nodeid
        return group if self.numnodes > FEW_WORKERS else "all groups"

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a group that is finished: xdist counts the tests of all groups of a worker after each test."""
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]
