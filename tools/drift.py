"""Find problems that no other step of make check finds: python -m tools.drift and a name in CHECKS.

Works offline. It compares pins with pyproject.toml, but does not ask whether newer versions exist.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from fnmatch import fnmatch
from pathlib import Path
from statistics import median

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")

# Packages whose top-level class names are unique, apart from names that Django chooses.
PACKAGES = (
    "audit",
    "analytics",
    "benchmarks",
    "chat",
    "config",
    "console",
    "core",
    "demo",
    "gateway",
    "notifications",
    "registry",
    "workspace",
)
PRODUCT = frozenset(PACKAGES) - {"benchmarks"}
FRAMEWORK_NAMES = frozenset(("Command", "Migration"))  # what Django looks for
TABLE_NAMES = frozenset(("Profile",))  # of two models, each with the name that its app chose

# Each machine decides where it installs packages from. The pattern splits the names so that it does not match itself.
REGISTRY_HOST = re.compile(r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|crates|rubygems)\.(?:org|com|io)\b", re.IGNORECASE)


def find_requirement_problems() -> list[str]:
    """Return a sentence for each difference between requirements/ and pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = project["dependencies"]
    dev = base + project["optional-dependencies"]["dev"]
    problems = _compare_pins(project["name"], base, "requirements/base.txt")
    problems += _compare_pins(project["name"], dev, "requirements/dev.txt")

    pinned = _read_pins("requirements/dev.txt")
    problems += [
        f"requirements/base.txt pins {name} {version}, requirements/dev.txt does not."
        for name, version in _read_pins("requirements/base.txt").items()
        if pinned.get(name) != version
    ]
    return problems


def _compare_pins(project: str, dependencies: list[str], path: str) -> list[str]:
    pins = _read_pins(path)
    required = {canonicalize_name(each.name): each for each in map(Requirement, dependencies)}
    problems = [
        f"pyproject.toml requires {requirement}, but {path} pins {pins.get(name, 'nothing')}."
        for name, requirement in required.items()
        if name not in pins or not requirement.specifier.contains(pins[name], prereleases=True)
    ]
    stale = _read_direct_dependencies(project, path) - required.keys()
    return problems + [f"{path} pins {name}, which pyproject.toml does not require." for name in sorted(stale)]


def _read_pins(path: str) -> dict[str, str]:
    """Return the pinned version of each package."""
    pins = filter(None, map(PIN.match, (ROOT / path).read_text().splitlines()))
    return {canonicalize_name(pin["name"]): pin["version"] for pin in pins}


def _read_direct_dependencies(project: str, path: str) -> set[str]:
    """Return the packages whose "via" comment names pyproject.toml."""
    direct, name = set(), ""
    for line in (ROOT / path).read_text().splitlines():
        if pin := PIN.match(line):
            name = canonicalize_name(pin["name"])
        elif line.endswith(f" {project} (pyproject.toml)"):
            direct.add(name)
    return direct


def find_registry_hosts() -> list[str]:
    """Return a sentence for each line that names a package registry or, in requirements/, any URL."""
    problems = []
    for path in list_committed_files():
        lines = (ROOT / path).read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if REGISTRY_HOST.search(line) or (path.startswith("requirements/") and "://" in line):
                problems.append(f"{path}:{number} names a package registry. Remove it: each machine has its own.")
    return problems


def find_repeated_class_names() -> list[str]:
    """Return a sentence for each class name that two modules define. Nested classes are not compared."""
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORK_NAMES | TABLE_NAMES:
                    modules[node.name].append(str(path.relative_to(ROOT)))
    return [f"{' and '.join(paths)} both define {name}. Rename one." for name, paths in modules.items() if paths[1:]]


def list_committed_files() -> list[str]:
    """Return every file that .gitignore does not name. Walks the tree, so that it works without git."""
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line)]
    paths = []
    for folder, folders, files in os.walk(ROOT):
        for names in (folders, files):
            names[:] = sorted(name for name in names if not any(fnmatch(name, pattern) for pattern in ignored))
        paths += [str((Path(folder) / name).relative_to(ROOT)) for name in files]
    return paths


# Modules that Django looks for in each app, and programs and settings of `config`, which its documentation names.
UNCOUNTED_MODULES = frozenset(("__init__.py", "apps.py", "urls.py"))
MAX_MODULES = 15
MIN_MEDIAN_LINES = 110
MAX_ONE_WORD_NAMES = 0.2  # of all functions


def find_structure_problems() -> list[str]:
    """Return a sentence for each measure of the layout that is out of its limits. Tests and tools are not measured."""
    files = [path for path in list_committed_files() if path.endswith(".py") and path.partition("/")[0] in PRODUCT]
    modules = [ROOT / path for path in files if "/migrations/" not in path and Path(path).name not in UNCOUNTED_MODULES]
    sources = [module.read_text() for module in modules]
    problems = []
    for folder, count in Counter(str(module.parent.relative_to(ROOT)) for module in modules).items():
        if count > MAX_MODULES:
            problems.append(
                f"{folder} has {count} modules; at most {MAX_MODULES}. Find the missing folder, or join modules."
            )
    if (lines := median(source.count("\n") for source in sources)) < MIN_MEDIAN_LINES:
        problems.append(f"The median module has {lines:.0f} lines; at least {MIN_MEDIAN_LINES}. Join small modules.")
    names = [
        node.name.strip("_")
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
    ]
    if (share := sum("_" not in name for name in names) / len(names)) > MAX_ONE_WORD_NAMES:
        problems.append(f"{share:.0%} of the functions have names of one word; at most {MAX_ONE_WORD_NAMES:.0%}.")
    return problems


SCRIPT_FOLDERS = ("static/", "gateway/static/")


def find_script_problems() -> list[str]:
    """Return a sentence for each script of the pages that does not parse, or imports what is not there."""
    node = shutil.which("node")
    if node is None:
        print("Skipped: node, which parses the scripts, is not installed.")
        return []
    scripts = [path for path in list_committed_files() if path.startswith(SCRIPT_FOLDERS) and path.endswith(".js")]
    options = ["--experimental-vm-modules", "--no-warnings"]  # node has no other way to link without running
    command = [node, *options, "tools/link_scripts.mjs", *scripts]
    linked = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    return [*linked.stdout.splitlines(), *([linked.stderr] if linked.returncode else [])]


CHECKS = {
    "requirements": find_requirement_problems,
    "hosts": find_registry_hosts,
    "classes": find_repeated_class_names,
    "structure": find_structure_problems,
    "scripts": find_script_problems,
}


def main(name: str) -> int:
    """Run one check, print the problems, and return the exit code."""
    problems = CHECKS[name]()
    print("\n".join(problems) or "No problems found.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
