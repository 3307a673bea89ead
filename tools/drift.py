"""Find faults that no other step of make check finds: python -m tools.drift requirements|hosts|classes.

Works offline: pins are compared with pyproject.toml by name and version; whether a newer one exists is not asked.
"""

import ast
import os
import re
import sys
import tomllib
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")

# Packages whose top-level class names are unique, apart from names that Django chooses.
PACKAGES = ("config", "core", "analytics", "registry", "workspace", "gateway", "benchmarks")
FRAMEWORK_NAMES = frozenset(("Command", "Migration"))

# Where packages are installed from is the machine's affair. The names are apart from ".org" so that this file is clean.
REGISTRY_HOST = re.compile(r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|crates|rubygems)\.(?:org|com|io)\b", re.IGNORECASE)


def requirements() -> list[str]:
    """Return a sentence for each way in which requirements/ does not follow from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = project["dependencies"]
    dev = base + project["optional-dependencies"]["dev"]
    faults = _drift(project["name"], base, "requirements/base.txt") + _drift(
        project["name"], dev, "requirements/dev.txt"
    )

    pinned = _pins("requirements/dev.txt")
    faults += [
        f"requirements/base.txt pins {name} {version}, requirements/dev.txt does not."
        for name, version in _pins("requirements/base.txt").items()
        if pinned.get(name) != version
    ]
    return faults


def _drift(project: str, wanted: list[str], path: str) -> list[str]:
    pins = _pins(path)
    asked = {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, wanted)}
    faults = [
        f"pyproject.toml asks for {requirement}, {path} pins {pins.get(name, 'nothing')}."
        for name, requirement in asked.items()
        if name not in pins or not requirement.specifier.contains(pins[name], prereleases=True)
    ]
    stale = _direct(project, path) - asked.keys()
    return faults + [f"{path} pins {name} for pyproject.toml, which does not ask for it." for name in sorted(stale)]


def _pins(path: str) -> dict[str, str]:
    found = filter(None, map(PIN.match, (ROOT / path).read_text().splitlines()))
    return {canonicalize_name(pin["name"]): pin["version"] for pin in found}


def _direct(project: str, path: str) -> set[str]:
    """Return the names whose "via" comment says that pyproject.toml itself asked for them."""
    direct, name = set(), ""
    for line in (ROOT / path).read_text().splitlines():
        if pin := PIN.match(line):
            name = canonicalize_name(pin["name"])
        elif line.endswith(f" {project} (pyproject.toml)"):
            direct.add(name)
    return direct


def hosts() -> list[str]:
    """Return a sentence for each line that names a package registry, or, in requirements/, any address."""
    faults = []
    for path in _committed():
        lines = (ROOT / path).read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if REGISTRY_HOST.search(line) or (path.startswith("requirements/") and "://" in line):
                faults.append(f"{path}:{number} names where packages come from; leave that to the machine.")
    return faults


def classes() -> list[str]:
    """Return a sentence for each class name that two modules define. Nested classes carry the name of their owner."""
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORK_NAMES:
                    modules[node.name].append(str(path.relative_to(ROOT)))
    return [f"{name} is a class in {' and '.join(paths)}. Rename one." for name, paths in modules.items() if paths[1:]]


def _committed() -> list[str]:
    """Return every file that .gitignore does not name, walking the tree: a machine without git can check, too."""
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line)]
    found = []
    for folder, folders, files in os.walk(ROOT):
        for names in (folders, files):
            names[:] = sorted(name for name in names if not any(fnmatch(name, pattern) for pattern in ignored))
        found += [str((Path(folder) / name).relative_to(ROOT)) for name in files]
    return found


CHECKS = {"requirements": requirements, "hosts": hosts, "classes": classes}


def main(name: str) -> int:
    """Run one check, print what it found, return the exit code."""
    faults = CHECKS[name]()
    print("\n".join(faults) or "Nothing found.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
