"""What the console declares: what each of its sections declares."""

from console.access import manifest as access
from console.activity import manifest as activity
from console.connections import manifest as connections
from console.copy import manifest as copy
from console.evals import manifest as evals
from console.home import manifest as home
from console.releases import manifest as releases
from console.reports import manifest as reports
from console.rollout import manifest as rollout
from console.system import manifest as system
from core.manifest import merge

SECTIONS = (home, copy, releases, evals, rollout, reports, activity, connections, access, system)
MANIFEST = merge(section.MANIFEST for section in SECTIONS)
