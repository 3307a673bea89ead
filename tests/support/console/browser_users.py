"""Users with a browser: their pages, and the requests and errors of the browser."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from console.access.roles import Role
from tests.support.console import playwright_loop

PASSWORD = "a password of the tests"
WAITS_MS = 30_000  # for what a page does: a busy machine is not a failure
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
IMAGES = Path(settings.BASE_DIR) / "docs" / "images"

# CI runs Debian's Chromium as root, where its sandbox does not work. The last flags stop its own network requests.
FLAGS = """
    --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking
    --disable-component-update --disable-sync
""".split()

# Rules with a minor or moderate impact are skipped, because they take a quarter of the time.
RUN_AXE = """([context, options]) => {
    if (!options.runOnly) {
        const left_out = axe._audit.rules.filter(rule => ["minor", "moderate"].includes(rule.impact));
        options.rules = Object.fromEntries(left_out.map(rule => [rule.id, { enabled: false }]));
    }
    return axe.run(context, options);
}"""


def create_users() -> None:
    """Create a user for each role, named after it in lower case, for example "product manager"."""
    hashed = make_password(PASSWORD, hasher="argon2")  # the hasher of the server
    for role in Role:
        person = User.objects.create(username=role.value.lower(), password=hashed, is_staff=True)
        person.groups.set(Group.objects.filter(name=role.value))


class BrowserUser:
    """A user with their own browser context, which records requests and errors."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.context = browser.new_context(base_url=url, viewport=DESKTOP, reduced_motion="reduce", **options)
        self.context.set_default_timeout(WAITS_MS)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.context.on("request", self._record_request)
        self.context.on("console", self._record_message)
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.page: Page = self.context.new_page()

    def forget_tab(self) -> None:
        """Delete what pages store in this tab. A new one, with a process of its own, costs over a CPU second."""
        self.page.evaluate("sessionStorage.clear()")

    def log_in(self, name: str) -> "BrowserUser":
        self.page.goto("/admin/")
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{self.url}/admin/")
        return self

    def change_theme(self) -> str:
        """Switch between the light and the dark theme, as the menu does, and return the new theme.

        Pages without the menu follow the system.
        """
        if not self.page.evaluate("'Alpine' in window"):
            is_dark = self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            self.page.emulate_media(color_scheme="light" if is_dark else "dark")
            return "light" if is_dark else "dark"
        is_dark = self.page.evaluate("document.documentElement.classList.contains('dark')")
        theme = "light" if is_dark else "dark"
        self.page.evaluate("theme => Alpine.$data(document.documentElement).switchTheme(theme)", theme)
        self.page.wait_for_selector(f"html.{theme}")
        return theme

    def find_accessibility_faults(self, *rules: str, but: Sequence[str] = ()) -> list[str]:
        """Return the serious and critical violations that axe-core finds on the page, with all or with some rules.

        Elements that match a selector in `but` are excluded.
        """
        options = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": list(rules)} if rules else {})
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        # Finish all transitions, because colours may lack contrast while they change.
        self.page.evaluate("document.getAnimations().forEach(each => each instanceof CSSTransition && each.finish())")
        results = self.page.evaluate(RUN_AXE, [{"exclude": list(but)}, options])
        return [
            f"{each['id']}: {each['help']}, at {', '.join(str(node['target'][0]) for node in each['nodes'][:3])}"
            for each in results["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def list_foreign_requests(self) -> list[str]:
        """Return the requested addresses of other hosts."""
        return [each for each in self.requests if not each.startswith((f"{self.url}/", "data:", "blob:"))]

    def _record_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


@contextmanager
def open_browser(browser: Browser, url: str, **options: Any) -> Iterator[BrowserUser]:
    """Yield a user who is not logged in, and close the browser context afterwards."""
    person = BrowserUser(browser, url, **options)
    try:
        yield person
    finally:
        with playwright_loop.visible():  # a fixture of the session may end in a test without a browser
            person.context.close()
