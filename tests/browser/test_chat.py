"""The chat's page in a browser: the whole loop with the scripted model, and every state with one that tests hold."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client as HttpClient
from django.test import override_settings
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, Route, expect
from pytest_django.plugin import DjangoDbBlocker

from analytics.models import Cohort
from analytics.rollout.flags import FlagKey
from chat.models import Conversation, Message, Profile
from gateway.clients import api_keys
from gateway.models import Client
from tests.support import browser_users, http_servers
from tests.support.browser_users import PHONE, BrowserUser
from tests.support.chat_site import CuttableLine, HeldModel, Hold, Refusal, Step, ToolCallStep, run_chats
from tests.support.http_servers import build_response
from tests.support.servers import stores
from tests.support.servers.environment import PEPPER, SECRETS, build_environment, make_key
from tests.support.servers.processes import Server, eventually, run_server
from tests.support.servers.stores import Store
from workspace.demo import DEMO_SUBJECT

pytestmark = [pytest.mark.server, pytest.mark.browser]

LONG_MESSAGES = 300
READER = "reader"  # who has a long conversation
GUESTS = 25
GUIDE_PICTURES = ("empty", "conversation", "confirm")
SCHEMES = ("light", "dark")


class ChatSite(NamedTuple):
    """A gateway, a chat with the scripted model, and one with a model that tests hold.

    `sessions` are session keys by user. Guests have no workspace; each test takes another one, because a subject may
    send 20 messages a minute.
    """

    gateway: Server
    scripted_url: str
    held_url: str
    model: HeldModel
    desk_url: (
        str  # a page that embeds the panel whose address follows the question mark; only the second chat allows it
    )
    sessions: dict[str, str]
    guests: list[str]


@pytest.fixture(scope="module")
def site(
    browser: Browser, set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChatSite]:
    folder = tmp_path_factory.mktemp("chat")
    with ExitStack() as stack:
        secret_key = SECRETS["SECRET_KEY"]
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER, SECRET_KEY=secret_key):
            copy = stores.create_store(folder, set_up_store)
            with copy.connected():
                browser_users.create_users()
                Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
                guests = [f"guest-{number}" for number in range(GUESTS)]
                subjects = {"admin": DEMO_SUBJECT, READER: READER} | {guest: guest for guest in guests}
                sessions = {name: create_session(name, subject) for name, subject in subjects.items()}
                create_long_conversation()
                key, chat_key = make_key(), make_chat_key()
        gateway = stack.enter_context(run_server(environment=build_environment(copy, folder), key=key))
        model = HeldModel()
        stack.callback(model.stop)
        desk = http_servers.Server(embed_address)
        stack.callback(desk.stop)
        common = {"CHAT_GATEWAY_URL": gateway.url, "CHAT_GATEWAY_KEY": chat_key}
        llm = {"LLM_BASE_URL": model.url, "LLM_MODEL": "big", "LLM_FAST_MODEL": "quick"}
        prices = {
            "LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS": "0.40",
            "LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS": "1.60",
        }
        scripted_url, held_url = stack.enter_context(
            run_chats(
                build_environment(copy, folder, **common),
                build_environment(copy, folder, **common, **llm, **prices, CHAT_FRAME_ANCESTORS=desk.url("")),
            )
        )
        yield ChatSite(gateway, scripted_url, held_url, model, desk.url(), sessions, guests)
    with django_db_blocker.unblock():
        stores.drop_store(copy)


def embed_address(request: bytes) -> bytes:
    """Answer with a page that embeds the address in the request's query."""
    address = request.split(b" ")[1].partition(b"?")[2]
    return build_response(
        b'<!doctype html><iframe src="%s" width=500 height=600></iframe>' % address, Content_Type="text/html"
    )


def make_chat_key() -> str:
    """Issue a key of a client whose users are asked before it deletes, as `manage.py start` does."""
    client = Client.objects.create(name="chat", confirms=True)
    return api_keys.issue(client=client, by="tests", name="chat", rate=100_000)[1]


def create_session(name: str, subject: str) -> str:
    """Create a user with a chat profile, who is signed in, and return the key of their session."""
    user, _ = User.objects.get_or_create(username=name)
    Profile.objects.create(user=user, subject=subject)
    client = HttpClient()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies["sessionid"].value


def create_long_conversation() -> None:
    conversation = Conversation.objects.create(subject=READER, title="A long conversation")
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            position=position,
            role=Message.Role.USER if position % 2 else Message.Role.ASSISTANT,
            text=f"Message {position}\n\n- with a list\n- and **bold** text",
            finish="" if position % 2 else Message.Finish.STOP,
            created_at=timezone.now() - timedelta(days=1),
        )
        for position in range(1, LONG_MESSAGES + 1)
    )


@pytest.fixture
def open_chat(browser: Browser, site: ChatSite) -> Iterator[Callable[..., BrowserUser]]:
    """Return a function that opens a browser in which somebody is signed in. It checks for errors at the end.

    By default that is the admin with the scripted model, and a guest with the other one.
    """
    guest = site.guests.pop()
    with ExitStack() as stack:

        def start(url: str, name: str = "", **options: Any) -> BrowserUser:
            person = stack.enter_context(browser_users.open_browser(browser, url, **options))
            name = name or ("admin" if url == site.scripted_url else guest)
            person.context.add_cookies([{"name": "sessionid", "value": site.sessions[name], "url": url}])
            stack.callback(check_browser, person)
            return person

        yield start


def check_browser(person: BrowserUser) -> None:
    hosts = {urlsplit(each).hostname for each in person.requests if not each.startswith(("data:", "blob:"))}
    assert hosts <= {"127.0.0.1"}
    # Chromium reports failed requests. All else, such as a violation of the policy, is an error of the page.
    assert [each for each in person.errors if "Failed to load resource" not in each] == []


@pytest.fixture
def take_state(
    request: pytest.FixtureRequest, tmp_path: Path, take_picture: Callable[[BrowserUser, str], None]
) -> Callable[[BrowserUser, str], None]:
    """Return a function that writes a screenshot of a state, and one for the guides if the run has --pictures."""

    def take(person: BrowserUser, name: str) -> None:
        person.page.screenshot(path=tmp_path / f"{name}.png", animations="disabled", caret="hide")
        if name in GUIDE_PICTURES:
            take_picture(person, f"chat-{name}")

    return take


def send(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def last_answer(page: Page) -> Locator:
    return page.locator(".answer").last


def wait_for_end(page: Page, state: str = "stop") -> None:
    expect(last_answer(page)).to_have_attribute("data-state", state)


def read_conversation_id(page: Page) -> str:
    page.wait_for_url(re.compile("/chat/c/"))
    return page.url.rstrip("/").rpartition("/")[2]


def plan_answers(site: ChatSite, *answers: list[Step]) -> None:
    site.model.answers.clear()
    site.model.answers.extend(answers)


def test_sign_in_leads_back_to_the_page(browser: Browser, site: ChatSite) -> None:
    with browser_users.open_browser(browser, site.scripted_url) as person:
        page = person.page
        page.goto("/chat/panel/?type=calendar")
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()
        page.goto("/chat/")
        page.get_by_label("User name").fill("admin")
        page.get_by_label("Password").fill(browser_users.PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="New chat")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to the chat")).to_be_visible()


def test_conversation_creates_a_project_finds_time_and_schedules(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    person = open_chat(site.scripted_url)
    page = person.page
    page.goto("/chat/")
    expect(page.locator(".suggestion")).to_have_count(10)
    expect(page.get_by_text("Scripted model: no AI is connected.")).to_be_visible()
    take_state(person, "empty")

    page.locator(".suggestion", has_text="Create a project “Team offsite”").click()
    wait_for_end(page)
    expect(page.locator(".card-op")).to_have_text(["onto.project.search", "onto.project.create"])
    expect(last_answer(page).locator(".ledger li")).to_have_text(["Created project “Team offsite”"])
    expect(page.locator("#place-name")).to_have_text("Team offsite")
    send(page, "Find a free hour next week.")
    wait_for_end(page)
    expect(last_answer(page).locator(".card-op")).to_have_text(["cal.slot.find"])
    send(page, "Schedule “Find a venue” into my next free two hours.")
    wait_for_end(page)
    expect(last_answer(page).locator(".ledger li")).to_have_text(["Scheduled task “Find a venue”"])
    expect(page.get_by_role("status")).to_have_text("Answer complete")
    take_state(person, "conversation")
    projects = site.gateway.exec("onto.project.search", {"query": "Team offsite"}).json()["result"]["projects"]
    assert [each["name"] for each in projects] == ["Team offsite"]

    streamed = page.locator("#transcript").inner_text()
    page.reload()
    assert page.locator("#transcript").inner_text() == streamed
    expect(page.locator("#place-name")).to_have_text("Team offsite")
    expect(page.locator(".conversation-link[aria-current]")).to_contain_text("Create a project")


def test_card_opens_to_args_result_and_rows_whose_details_are_asked_for(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    person = open_chat(site.scripted_url)
    page = person.page
    page.goto("/chat/")
    page.locator(".suggestion", has_text="Show my high-priority tasks").click()
    wait_for_end(page)

    page.locator(".card summary").click()
    expect(page.locator(".card-args")).to_contain_text('"op": "onto.task.list"')
    expect(page.locator(".card-envelope")).to_contain_text('"ok": true')
    expect(page.locator(".rows tr").first).to_contain_text("Draft the homepage copy")
    take_state(person, "card")
    page.locator(".figures summary").click()
    expect(page.locator(".figures-served")).to_contain_text("gateway · ")
    expect(page.locator(".layers tbody tr").first).to_contain_text("500")
    take_state(person, "figures")

    page.get_by_role("button", name="Details of Draft the homepage copy").click()
    wait_for_end(page)
    expect(page.locator(".question-text").last).to_have_text("Tell me more about “Draft the homepage copy”")
    expect(last_answer(page).locator(".card-op").last).to_have_text("onto.task.get")


@pytest.mark.parametrize("is_approved", [True, False], ids=["delete", "keep"])
def test_delete_is_confirmed_or_declined(
    site: ChatSite,
    open_chat: Callable[..., BrowserUser],
    take_state: Callable[[BrowserUser, str], None],
    is_approved: bool,
) -> None:
    person = open_chat(site.scripted_url)
    page = person.page
    page.goto("/chat/")
    page.locator(".suggestion", has_text="then delete it again").click()
    wait_for_end(page, "ask")
    expect(page.get_by_text("This would delete the task “Try the confirmation”.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Your decision is needed")
    take_state(person, "confirm")
    page.reload()

    page.get_by_role("button", name="Delete “Try the confirmation”" if is_approved else "Keep it").click()
    expect(page.locator(".answer")).to_have_count(2)
    wait_for_end(page)
    card = page.locator(".card", has_text="onto.task.delete").first
    expect(card).to_have_attribute("data-status", "success" if is_approved else "error")
    expect(page.get_by_role("button", name="Keep it")).to_be_hidden()
    rows = site.gateway.exec("onto.task.search", {"query": "Try the confirmation"}).json()["result"]["tasks"]
    assert [each["title"] for each in rows if each["title"] == "Try the confirmation"] == (
        [] if is_approved else ["Try the confirmation"]
    )


def test_another_message_leaves_a_call_undone(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    page = open_chat(site.scripted_url).page
    page.goto("/chat/")
    page.locator(".suggestion", has_text="then delete it again").click()
    wait_for_end(page, "ask")

    send(page, "Find a free hour next week.")
    wait_for_end(page)
    undone = page.locator(".card[data-status=undone]")
    expect(undone).to_contain_text("You went on without this. Nothing was done.")
    page.reload()
    expect(undone).to_contain_text("You went on without this. Nothing was done.")


def test_states_of_an_answer(
    site: ChatSite,
    open_chat: Callable[..., BrowserUser],
    take_state: Callable[[BrowserUser, str], None],
    tmp_path: Path,
) -> None:
    begin, go_on, more = Hold(), Hold(), Hold()
    search = ToolCallStep("util.web.search", {"query": "offsite venues"})
    plan_answers(
        site,
        [begin, "I look **at once**.\n\nNow the tool: ", ToolCallStep("probe.hold", {"folder": str(tmp_path)})],
        ["It has ", go_on, "answered.\n\n", search],
        [more, "The search is not set up: an administrator can connect one."],
    )
    person = open_chat(site.held_url)
    page = person.page
    page.goto("/chat/")
    send(page, "Show me every state")

    expect(last_answer(page)).to_have_attribute("data-state", "waiting")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    take_state(person, "waiting")
    begin.release()
    expect(page.locator(".card[data-status=start] .card-op")).to_have_text("probe.hold")
    expect(last_answer(page).locator("strong")).to_have_text("at once")
    take_state(person, "tool")
    (tmp_path / "go").touch()
    expect(last_answer(page).locator(".tail")).to_have_text("It has ")
    expect(page.get_by_role("status")).to_have_text("Answering")
    take_state(person, "streaming")
    go_on.release()
    needs_user = page.locator(".card[data-for-user]")
    expect(needs_user).to_contain_text("util.web.search")
    expect(needs_user).to_contain_text("Needs you")
    expect(page.get_by_role("status")).to_have_text("Used tool util.web.search")
    more.release()
    wait_for_end(page)
    take_state(person, "needs-user")
    expect(last_answer(page).locator(".figures-spent")).to_have_text("3,600 tokens · $0.0022")
    expect(page.get_by_role("heading", name="A title by the model")).to_be_visible()


def test_markdown_looks_like_itself_while_it_arrives(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    hold = Hold()
    plan_answers(site, ["A list:\n\n- **one", "** <b>\n-", " two `x`\n", "- **thr", hold, "ee**\n\nEnd."])
    person = open_chat(site.held_url)
    page = person.page
    page.goto("/chat/")
    send(page, "A list")

    lines = last_answer(page).locator(".tail-item")
    expect(lines).to_have_text(["one <b>", "two x", "thr"])
    expect(lines.nth(2).locator("strong")).to_have_text("thr")
    take_state(person, "markdown")
    hold.release()
    wait_for_end(page)
    expect(last_answer(page).locator(".tail")).to_have_count(0)
    expect(last_answer(page).locator("li")).to_have_text(["one <b>", "two x", "three"])


def test_stop_keeps_what_was_written(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    hold = Hold()
    plan_answers(site, ["The first half", hold, " and the second."])
    person = open_chat(site.held_url)
    page = person.page
    page.goto("/chat/")
    send(page, "Write a lot")
    expect(last_answer(page)).to_contain_text("The first half")

    page.get_by_role("button", name="Stop").click()
    wait_for_end(page, "cancelled")
    hold.release()
    expect(last_answer(page)).to_contain_text("You stopped this answer.")
    expect(last_answer(page).locator(".text")).to_have_text("The first half")
    expect(page.get_by_label("Message", exact=True)).to_be_enabled()
    take_state(person, "stopped")


def test_reload_while_streaming_goes_on_without_doubling(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    plan_answers(site, ["One paragraph.\n\nAnd half", hold, " of another."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    send(page, "Begin")
    expect(last_answer(page).locator(".tail")).to_have_text("And half")
    page.get_by_label("Message", exact=True).fill("A draft")
    page.reload()

    expect(last_answer(page).locator(".tail")).to_have_text("And half")
    expect(page.get_by_label("Message", exact=True)).to_have_value("A draft")
    hold.release()
    wait_for_end(page)
    expect(last_answer(page).locator(".text")).to_have_text("One paragraph.\nAnd half of another.")
    expect(page.locator(".answer")).to_have_count(1)


def test_switching_conversations_loses_nothing(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    plan_answers(site, ["Before", hold, " and after."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    send(page, "Answer while I am away")
    expect(last_answer(page)).to_contain_text("Before")
    id = read_conversation_id(page)
    page.get_by_role("link", name="New chat").click()
    expect(page.locator("#welcome")).to_be_visible()
    hold.release()

    page.locator(f'.conversation[data-id="{id}"] a').click()
    wait_for_end(page)
    expect(last_answer(page).locator(".text")).to_have_text("Before and after.")


def test_broken_connection_is_resumed(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    hold = Hold()
    plan_answers(site, ["It begins.\n\nThen the line", hold, " breaks, and the answer goes on."])
    with closing(CuttableLine(urlsplit(site.held_url).port or 0)) as line:
        person = open_chat(line.url)
        page = person.page
        page.goto("/chat/")
        send(page, "Go on without me")
        expect(last_answer(page).locator(".tail")).to_have_text("Then the line")

        line.cut()
        expect(page.locator("#connection")).to_contain_text("Connection lost.")
        take_state(person, "cut-off")
        hold.release()
        line.mend()
        wait_for_end(page)
        expect(page.locator("#connection")).to_be_hidden()
        expect(last_answer(page).locator(".text")).to_have_text(
            "It begins.\nThen the line breaks, and the answer goes on."
        )
        take_state(person, "resumed")


def test_failed_answer_is_sent_again(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    plan_answers(site, [Refusal()], ["Now it works."])
    person = open_chat(site.held_url)
    page = person.page
    page.goto("/chat/")
    send(page, "Try this")

    wait_for_end(page, "error")
    expect(page.locator(".answer [role=alert]")).to_contain_text("The model refuses this request.")
    take_state(person, "failed")
    page.get_by_role("button", name="Try again").click()
    wait_for_end(page)
    expect(page.locator(".question-text")).to_have_text(["Try this", "Try this"])
    expect(last_answer(page)).to_contain_text("Now it works.")


def test_rate_limit_keeps_the_text_and_counts_down(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    plan_answers(site, ["Sent."])
    error = {"code": "rate_limited", "message": "More than 20 messages in a minute.", "retryable": True}

    def refuse(route: Route) -> None:
        route.fulfill(status=429, json={"error": error}, headers={"Retry-After": "1"})

    person = open_chat(site.held_url)
    page = person.page
    page.goto("/chat/")
    page.route("**/chat/api/stream", refuse)
    send(page, "Too much")

    expect(page.get_by_role("alert")).to_contain_text("You can send again in")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Too much")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    expect(page.locator(".question")).to_have_count(0)
    take_state(person, "rate-limited")
    page.unroute("**/chat/api/stream")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    wait_for_end(page)


def test_second_message_while_an_answer_runs_is_explained(
    site: ChatSite, open_chat: Callable[..., BrowserUser]
) -> None:
    hold = Hold()
    plan_answers(site, ["First", hold, "."], ["Second."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    send(page, "Begin")
    expect(last_answer(page)).to_contain_text("First")
    id = read_conversation_id(page)
    hold_other = open_chat(site.held_url).page
    hold_other.goto(f"/chat/c/{id}/")
    hold.release()
    wait_for_end(hold_other)

    again = Hold()
    plan_answers(site, ["Third", again, "."])
    send(page, "Go on")
    expect(last_answer(page)).to_contain_text("Third")
    send(hold_other, "And I")
    expect(hold_other.get_by_role("alert")).to_contain_text("An answer is still being written")
    expect(hold_other.get_by_label("Message", exact=True)).to_have_value("And I")
    hold_other.get_by_role("button", name="Show it").click()
    expect(last_answer(hold_other)).to_contain_text("Third")
    again.release()
    wait_for_end(page)
    wait_for_end(hold_other)


def test_conversations_are_searched_renamed_and_deleted(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["A zebra."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    send(page, "Which animal has stripes?")
    wait_for_end(page)
    id = read_conversation_id(page)
    item = page.locator(f'.conversation[data-id="{id}"]')

    item.get_by_role("button").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("Title", exact=True).fill("Stripes <b>")
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("Stripes <b>")
    page.get_by_label("Search conversations").fill("zebra")
    expect(page.locator(".conversation-link")).to_have_text(["Stripes <b>"])
    item.get_by_role("button").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export").click()
    assert download.value.suggested_filename == f"conversation-{id}.json"
    item.get_by_role("button").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile("/chat/$"))
    expect(item).to_have_count(0)


def test_message_to_a_deleted_conversation_is_kept(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["Soon gone."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    send(page, "Hello")
    wait_for_end(page)
    other = open_chat(site.held_url).page
    other.goto("/chat/")
    other.locator(".conversation-more").click()
    other.get_by_role("menuitem", name="Delete").click()
    other.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(other.locator(".conversation")).to_have_count(0)

    send(page, "Are you there?")
    expect(page.get_by_role("alert")).to_contain_text("This conversation was deleted.")
    page.get_by_role("alert").get_by_role("button", name="New chat").click()
    page.wait_for_url(re.compile("/chat/$"))
    expect(page.get_by_label("Message", exact=True)).to_have_value("Are you there?")


def test_copy_gives_the_markdown(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["- **one**\n- two"])
    person = open_chat(site.held_url, permissions=["clipboard-read", "clipboard-write"])
    page = person.page
    page.goto("/chat/")
    send(page, "A list")
    wait_for_end(page)

    for _ in ("streamed", "loaded"):
        page.get_by_role("button", name="Copy the answer").click()
        eventually(lambda: page.evaluate("navigator.clipboard.readText()") == "- **one**\n- two", within=5)
        page.evaluate("navigator.clipboard.writeText('')")
        page.reload()


def test_long_conversation_is_not_rendered_again(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["A short answer.\n\nIn two parts."])
    page = open_chat(site.held_url, READER).page
    page.goto("/chat/")
    page.get_by_role("link", name="A long conversation").click()
    expect(page.locator(".question, .answer")).to_have_count(LONG_MESSAGES)
    assert page.locator(".answer").first.evaluate("each => getComputedStyle(each).contentVisibility") == "auto"
    page.evaluate(
        """() => {
            window.changed = 0;
            const earlier = new Set(document.querySelectorAll(".question, .answer"));
            new MutationObserver((all) => all.forEach(({ target }) => {
                if (earlier.has(target.parentElement?.closest(".question, .answer") ?? target)) window.changed += 1;
            })).observe(document.getElementById("transcript"), { subtree: true, childList: true, attributes: true });
        }"""
    )
    send(page, "One more")
    wait_for_end(page)

    assert page.evaluate("window.changed") == 0
    expect(last_answer(page)).to_be_in_viewport()


def test_panel_is_a_chat_about_one_place(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_state: Callable[[BrowserUser, str], None]
) -> None:
    plan_answers(site, ["This panel is about your calendar."])
    person = open_chat(site.held_url)
    page = person.page
    page.set_viewport_size({"width": 420, "height": 700})
    page.goto("/chat/panel/?type=calendar")
    expect(page.locator("#place-name")).to_have_text("Calendar")
    send(page, "What is this?")
    wait_for_end(page)
    take_state(person, "panel")
    page.reload()

    expect(last_answer(page)).to_contain_text("This panel is about your calendar.")
    expect(page.locator("#place-name")).to_have_text("Calendar")


def test_panel_runs_in_a_frame_of_an_allowed_origin_only(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["From the frame."])
    page = open_chat(site.held_url).page
    page.goto(f"{site.desk_url}?{site.held_url}/chat/panel/")
    frame = page.frame_locator("iframe")
    frame.get_by_label("Message", exact=True).fill("Hello")
    frame.get_by_role("button", name="Send", exact=True).click()
    expect(frame.locator(".answer")).to_contain_text("From the frame.")

    other = open_chat(site.scripted_url)
    other.page.goto(f"{site.desk_url}?{site.scripted_url}/chat/panel/")
    eventually(lambda: any("frame-ancestors 'self'" in each for each in other.errors), within=5, what="the refusal")
    other.errors.clear()


def test_keyboard_alone_is_enough(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    plan_answers(site, ["Half", hold, "."], ["Whole."])
    page = open_chat(site.held_url).page
    page.goto("/chat/")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("Two")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("lines")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).to_have_text("Two\nlines")
    expect(last_answer(page)).to_contain_text("Half")

    page.keyboard.press("Escape")
    wait_for_end(page, "cancelled")
    hold.release()
    page.keyboard.type("Again")
    page.keyboard.press("Enter")
    wait_for_end(page)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_are_accessible_and_fit_a_phone(
    browser: Browser, site: ChatSite, open_chat: Callable[..., BrowserUser], tmp_path: Path, scheme: str
) -> None:
    person = open_chat(site.scripted_url, color_scheme=scheme)
    page = person.page
    page.goto("/chat/")
    check_page(person, tmp_path / f"empty-{scheme}.png")
    page.locator(".suggestion", has_text="then delete it again").click()
    wait_for_end(page, "ask")
    page.locator(".card summary").first.click()
    page.locator(".figures summary").first.click()
    check_page(person, tmp_path / f"conversation-{scheme}.png")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Conversations").click()
    check_page(person, tmp_path / f"list-{scheme}.png")
    page.locator(".conversation-more").first.click()
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    expect(page.locator("#sidebar")).to_be_visible()
    with browser_users.open_browser(browser, site.scripted_url, color_scheme=scheme) as stranger:
        stranger.page.goto("/chat/")
        check_page(stranger, tmp_path / f"sign-in-{scheme}.png")


def check_page(person: BrowserUser, picture: Path) -> None:
    """Check with axe-core, and on a phone that nothing is wider than the screen."""
    assert person.find_accessibility_faults() == []
    size = person.page.viewport_size
    person.page.set_viewport_size(PHONE)
    person.page.screenshot(path=picture)
    assert person.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert size is not None
    person.page.set_viewport_size(size)
