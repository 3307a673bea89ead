"""People at a browser: what they see, what their browser asks for, and what it complains about."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from gateway.roles import Role

PASSWORD = "a password of the tests"
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
IMAGES = Path(settings.BASE_DIR) / "docs" / "images"

# Debian's; it runs as root in CI, where its sandbox does not work, and asks nobody for updates of its own.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

# Rules whose faults would be minor or moderate anyway are left out: they take a quarter of the time.
RUN_AXE = """([context, options]) => {
    if (!options.runOnly) {
        const light = axe._audit.rules.filter(rule => ["minor", "moderate"].includes(rule.impact));
        options.rules = Object.fromEntries(light.map(rule => [rule.id, { enabled: false }]));
    }
    return axe.run(context, options);
}"""


def chromium() -> str:
    """Return the path of Chromium, empty where there is none: $CHROMIUM, or the first of its names on the path."""
    return environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""


def make() -> None:
    """Make somebody of each role, called as it is in small letters: admin, product manager."""
    hashed = make_password(PASSWORD, hasher="pbkdf2_sha256")  # as the server that they log in to takes it
    for role in Role:
        person = User.objects.create(username=role.value.lower(), password=hashed, is_staff=True)
        person.groups.set(Group.objects.filter(name=role.value))


class Person:
    """Somebody with a browser of their own, which remembers what it asked for and complained about."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.context = browser.new_context(base_url=url, viewport=DESKTOP, reduced_motion="reduce", **options)
        self.context.set_default_timeout(10_000)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context.on("request", self._ask)
        self.context.on("console", self._complain)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page: Page = self.context.new_page()

    def log_in(self, name: str) -> "Person":
        """Log in by the form."""
        self.page.goto("/admin/")
        self.page.get_by_label("Username").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{self.url}/admin/")
        return self

    def change_theme(self) -> str:
        """Change the theme from light to dark or back, as the page's menu does, and return the new one."""
        is_dark = self.page.evaluate("document.documentElement.classList.contains('dark')")
        theme = "light" if is_dark else "dark"
        self.page.evaluate("theme => Alpine.$data(document.documentElement).switchTheme(theme)", theme)
        self.page.wait_for_selector(f"html.{theme}")
        return theme

    def faults(self, *rules: str, but: Sequence[str] = ()) -> list[str]:
        """Return what axe-core calls a serious or critical fault of the page as it is, by all of its rules or some.

        What the selectors in `but` find is left out.
        """
        options = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": list(rules)} if rules else {})
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        # All colours at once: while they change they may be too alike.
        self.page.evaluate("document.getAnimations().forEach(each => each instanceof CSSTransition && each.finish())")
        found = self.page.evaluate(RUN_AXE, [{"exclude": list(but)}, options])
        return [
            f"{each['id']}: {each['help']}, at {', '.join(str(node['target'][0]) for node in each['nodes'][:3])}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def strangers(self) -> list[str]:
        """Return the addresses of other hosts that were asked for."""
        return [asked for asked in self.requests if not asked.startswith((f"{self.url}/", "data:", "blob:"))]

    def _ask(self, request: Request) -> None:
        self.requests.append(request.url)

    def _complain(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


@contextmanager
def somebody(browser: Browser, url: str, **options: Any) -> Iterator[Person]:
    """Yield somebody who is not logged in; their browser is closed."""
    person = Person(browser, url, **options)
    try:
        yield person
    finally:
        person.context.close()
