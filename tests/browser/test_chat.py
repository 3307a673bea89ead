"""The chat's page in a browser: the whole loop with the scripted model, and every state with one that tests hold."""

import copy
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
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

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from chat.models import Conversation, Message, Profile
from gateway.access import api_keys
from gateway.models import Client
from registry.catalog import cache
from tests.support.chat.chat_site import CuttableLine, HeldModel, Hold, Refusal, Step, Thought, ToolCallStep, run_chats
from tests.support.console import browser_users, playwright_loop
from tests.support.console.browser_users import DESKTOP, PHONE, BrowserUser
from tests.support.servers import stores
from tests.support.servers.environment import PEPPER, SECRETS, build_environment, make_key
from tests.support.servers.processes import Server, eventually, free_port, run_server
from tests.support.servers.stores import Store
from tests.support.upstreams import http_servers
from tests.support.upstreams.asking_servers import publish_asking_tools
from tests.support.upstreams.http_servers import build_response
from tests.support.upstreams.mcp_upstream import McpUpstream
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT

pytestmark = [pytest.mark.server, pytest.mark.browser]

LONG_MESSAGES = 300
READER = "reader"  # who has a long conversation
HISTORIAN = "historian"  # who has conversations of many days
NOW = datetime(2030, 3, 15, 14, tzinfo=UTC)  # of the historian: 10:00 in New York
GUESTS = 40  # at least one for each test


class ChatSite(NamedTuple):
    """A gateway, a chat with the scripted model, and one with a model that tests hold.

    `sessions` are session keys by user. Guests have no workspace; each test takes another one, because a subject may
    send 20 messages a minute.
    """

    gateway: Server
    gateway_line: CuttableLine  # from the second chat to the gateway
    scripted_url: str
    held_url: str
    model: HeldModel
    desk_url: (
        str  # a page that embeds the panel whose address follows the question mark; only the second chat allows it
    )
    sessions: dict[str, str]
    guests: list[str]


@pytest.fixture(scope="session")  # a run sorts tests by their duration, so those of this module do not stand together
def site(
    browser: Browser, set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChatSite]:
    folder = tmp_path_factory.mktemp("chat")
    with ExitStack() as stack:
        secret_key = SECRETS["SECRET_KEY"]
        upstream = McpUpstream()
        stack.callback(upstream.stop)
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER, SECRET_KEY=secret_key):
            store = stores.create_store(folder, set_up_store)
            with store.connected():
                cache.refresh_live()
                publish_asking_tools(upstream)
                browser_users.create_users()
                Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
                guests = [f"guest-{number}" for number in range(GUESTS)]
                subjects = {"admin": DEMO_SUBJECT} | {name: name for name in (READER, HISTORIAN, *guests)}
                sessions = {name: create_session(name, subject) for name, subject in subjects.items()}
                create_long_conversation()
                create_conversations_of_many_days()
                key, chat_key = make_key(), make_chat_key()
        gateway_port = free_port()
        line = stack.enter_context(closing(CuttableLine(gateway_port)))
        model = HeldModel()
        stack.callback(model.stop)
        desk = http_servers.Server(embed_address)
        stack.callback(desk.stop)
        key_setting = {"CHAT_GATEWAY_KEY": chat_key}
        llm = {"LLM_BASE_URL": model.url, "LLM_MODEL": "big", "LLM_FAST_MODEL": "quick"}
        prices = {
            "LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS": "0.40",
            "LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS": "1.60",
        }
        held = llm | prices | {"CHAT_GATEWAY_URL": line.url, "CHAT_FRAME_ANCESTORS": desk.url("")}
        chats = run_chats(
            build_environment(store, folder, **key_setting, CHAT_GATEWAY_URL=f"http://127.0.0.1:{gateway_port}"),
            build_environment(store, folder, **key_setting, **held),
        )
        with ThreadPoolExecutor(1) as pool:  # the gateway starts at the same time
            server = run_server(environment=build_environment(store, folder), key=key, port=gateway_port)
            starting = pool.submit(stack.enter_context, server)
            scripted_url, held_url = stack.enter_context(chats)
            gateway = starting.result()
        yield ChatSite(gateway, line, scripted_url, held_url, model, desk.url(), sessions, guests)
    with django_db_blocker.unblock():
        stores.drop_store(store)


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
    conversation = Conversation.objects.create(subject=READER, title="A long conversation", context={"type": "global"})
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


def create_conversations_of_many_days() -> None:
    for days in (0, 0.5, 1, 6, 20, 60, 400):  # ago
        at = NOW - timedelta(days=days)
        Conversation.objects.create(subject=HISTORIAN, title=f"{days} days ago", updated_at=at)


@pytest.fixture(scope="session")
def browsers(browser: Browser) -> Iterator[dict[str, BrowserUser]]:
    """Browsers by the address that they were opened for. They stay open: a new one loads every file again."""
    users: dict[str, BrowserUser] = {}
    yield users
    with playwright_loop.visible():  # this may end in a test without a browser
        for user in users.values():
            user.context.close()


@pytest.fixture
def open_chat(
    browser: Browser, browsers: dict[str, BrowserUser], site: ChatSite
) -> Iterator[Callable[..., BrowserUser]]:
    """Return a function that opens a tab in which somebody is signed in. Errors of the tabs are checked at the end.

    By default that is the admin with the scripted model, and a guest with the other one. With options it is a browser
    of its own.
    """
    guest = site.guests.pop()
    with ExitStack() as stack:

        def start(url: str, name: str = "", **options: Any) -> BrowserUser:
            if options:
                person = stack.enter_context(browser_users.open_browser(browser, url, **options))
            else:
                if url not in browsers:
                    browsers[url] = BrowserUser(browser, url)
                person = copy.copy(browsers[url])
                person.page = person.context.new_page()
                stack.callback(person.page.close)
            name = name or ("admin" if url == site.scripted_url else guest)
            sign_in(person, site.sessions[name])
            stack.callback(check_browser, person)
            return person

        yield start


def sign_in(person: BrowserUser, session: str) -> None:
    person.context.add_cookies([{"name": "sessionid", "value": session, "url": person.url}])


def check_browser(person: BrowserUser) -> None:
    hosts = {urlsplit(each).hostname for each in person.requests if not each.startswith(("data:", "blob:"))}
    assert hosts <= {"127.0.0.1"}
    person.requests.clear()
    # Chromium reports failed requests. All else, such as a violation of the policy, is an error of the page.
    errors = [each for each in person.errors if "Failed to load resource" not in each]
    person.errors.clear()
    assert errors == []


def send(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def open_page(open_chat: Callable[..., BrowserUser], url: str, name: str = "") -> Page:
    """Open an empty conversation."""
    page = open_chat(url, name).page
    page.goto("/chat/")
    return page


def ask(site: ChatSite, open_chat: Callable[..., BrowserUser], text: str, *answers: list[Step], name: str = "") -> Page:
    """Plan the answers of the held model, begin a conversation with it, and return its page."""
    plan_answers(site, *answers)
    page = open_page(open_chat, site.held_url, name)
    send(page, text)
    return page


def last_answer(page: Page) -> Locator:
    return page.locator(".answer").last


def wait_for_end(page: Page, state: str = "stop") -> None:
    """Wait for the end of the last answer. If the message was refused, that is an answer of before, and an alert."""
    expect(last_answer(page)).to_have_attribute("data-state", state)
    expect(page.locator("#alert")).to_be_empty()


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
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_picture: Callable[[BrowserUser, str], None]
) -> None:
    person = open_chat(site.scripted_url)
    page = person.page
    page.goto("/chat/")
    expect(page.locator(".suggestion")).to_have_count(10)
    expect(page.get_by_text("Scripted model: no AI is connected.")).to_be_visible()
    take_picture(person, "chat-empty")

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
    take_picture(person, "chat-conversation")
    projects = site.gateway.exec("onto.project.search", {"query": "Team offsite"}).json()["result"]["projects"]
    assert [each["name"] for each in projects] == ["Team offsite"]

    streamed = page.locator("#transcript").inner_text()
    page.reload()
    assert page.locator("#transcript").inner_text() == streamed
    expect(page.locator("#place-name")).to_have_text("Team offsite")
    expect(page.locator(".conversation-link[aria-current]")).to_contain_text("Create a project")


def test_card_opens_to_args_result_and_rows_whose_details_are_asked_for(
    site: ChatSite, open_chat: Callable[..., BrowserUser]
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
    page.locator(".figures summary").click()
    expect(page.locator(".figures-served")).to_contain_text("gateway · ")
    expect(page.locator(".layers tbody tr").first).to_contain_text("500")
    check_page_in_both_schemes(person)

    page.get_by_role("button", name="Details of Draft the homepage copy").click()
    wait_for_end(page)
    expect(page.locator(".question-text").last).to_have_text("Tell me more about “Draft the homepage copy”")
    expect(last_answer(page).locator(".card-op").last).to_have_text("onto.task.get")


def test_reasoning_is_folded_above_the_answer(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    thought = "The user wants <b>late</b> tasks.\nI list them."
    plan_answers(
        site, [Thought(thought), hold, ToolCallStep("onto.task.list", {})], [Thought("None."), "No task is late."]
    )
    person = open_chat(site.held_url)
    page = person.page
    page.clock.install()
    page.goto("/chat/")
    send(page, "Which tasks are late?")

    reasoning = last_answer(page).locator(".reasoning")
    expect(reasoning.get_by_text("Reasoning", exact=True)).to_be_visible()
    expect(reasoning.locator(".reasoning-text")).to_be_hidden()
    page.clock.run_for(15_000)
    expect(last_answer(page).locator(".waiting-long")).to_contain_text("Waiting for the model for 15 seconds")
    hold.release()
    wait_for_end(page)
    expect(last_answer(page).locator(".waiting")).to_be_hidden()
    reasoning.locator("summary").click()
    expect(reasoning.locator(".reasoning-text")).to_have_text(f"{thought}\n\nNone.")
    expect(last_answer(page).locator(".text")).to_have_text("No task is late.")
    check_page_in_both_schemes(person)

    page.reload()
    expect(reasoning.locator(".reasoning-text")).to_be_hidden()
    reasoning.locator("summary").click()
    expect(reasoning.locator(".reasoning-text")).to_have_text(f"{thought}\n\nNone.")


def test_delete_waits_for_a_decision(
    site: ChatSite, open_chat: Callable[..., BrowserUser], take_picture: Callable[[BrowserUser, str], None]
) -> None:
    person = open_chat(site.scripted_url)
    page = person.page
    page.goto("/chat/")
    suggestion = page.locator(".suggestion", has_text="then delete it again")
    message = suggestion.get_attribute("data-send") or ""
    suggestion.click()
    wait_for_end(page, "ask")
    expect(page.get_by_text("Delete the task “Try the confirmation”?")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Your decision is needed")
    take_picture(person, "chat-confirm")
    check_page_in_both_schemes(person)
    page.reload()

    deletion = last_answer(page).locator(".card", has_text="onto.task.delete")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".answer")).to_have_count(2)
    wait_for_end(page)
    expect(page.locator(".card[data-status=undone]")).to_contain_text("You said no. Nothing was done.")
    expect(page.get_by_role("button", name="Keep it")).to_be_hidden()
    assert count_tasks(site, "Try the confirmation") == 1

    send(page, message)
    wait_for_end(page, "ask")
    send(page, "Find a free hour next week.")
    wait_for_end(page)
    undone = page.locator(".card[data-status=undone]").last
    expect(undone).to_contain_text("You continued without this. Nothing was done.")
    page.reload()
    expect(undone).to_contain_text("You continued without this. Nothing was done.")

    send(page, message)
    wait_for_end(page, "ask")
    before = count_tasks(site, "Try the confirmation")
    deletion.get_by_role("button", name="Delete “Try the confirmation”").click()
    wait_for_end(page)
    expect(page.locator(".card[data-status=success]", has_text="onto.task.delete")).to_be_visible()
    assert count_tasks(site, "Try the confirmation") == before - 1


def test_calls_that_wait_together_are_decided_together(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    titles = ["Two at once", "Both at once"]
    created = [{"project_id": DEMO_PROJECT_ID, "title": title} for title in titles]
    rows = [site.gateway.exec("onto.task.create", args).json()["result"]["task"] for args in created]
    deletions: list[Step] = [ToolCallStep("onto.task.delete", {"task_id": row["id"]}) for row in rows]
    page = ask(site, open_chat, "Delete both", deletions, ["Both are gone."], name="admin")
    wait_for_end(page, "ask")

    send(page, "yes")
    wait_for_end(page, "ask")
    expect(last_answer(page)).to_contain_text("please confirm this with the button")
    expect(last_answer(page).locator(".card[data-status=confirm]")).to_have_count(2)
    page.reload()
    expect(last_answer(page).locator(".card[data-status=confirm]")).to_have_count(2)
    page.get_by_role("button", name="Approve all").click()

    wait_for_end(page)
    expect(last_answer(page)).to_contain_text("Both are gone.")
    expect(page.get_by_role("button", name="Approve all")).to_have_count(0)
    assert [count_tasks(site, title) for title in titles] == [0, 0]


def test_service_asks_with_a_form_in_the_card(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    page = ask(site, open_chat, "Order it", [ToolCallStep("notes.tool.write", {})], ["It is ordered."], name="admin")
    wait_for_end(page, "ask")
    page.reload()
    card = page.locator(".card[data-status=confirm]")
    expect(card).to_contain_text("The service of notes.tool.write asks: What is your name?")
    expect(card.get_by_label("copies")).to_have_value("1")

    card.get_by_role("button", name="Send").click()
    expect(card.get_by_label("Your name")).to_be_focused()  # it is required
    card.get_by_label("Your name").fill("Ana")
    card.get_by_label("size").select_option("Large")
    card.get_by_role("button", name="Send").click()

    wait_for_end(page)
    expect(last_answer(page)).to_contain_text("It is ordered.")
    result = page.locator(".card[data-status=success] .card-envelope").last
    expect(result).to_contain_text('"size": "large"')


def count_tasks(site: ChatSite, title: str) -> int:
    rows = site.gateway.exec("onto.task.search", {"query": title}).json()["result"]["tasks"]
    return sum(row["title"] == title for row in rows)


def test_states_of_an_answer(
    site: ChatSite,
    open_chat: Callable[..., BrowserUser],
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
    page = open_page(open_chat, site.held_url)
    send(page, "Show me every state")

    expect(last_answer(page)).to_have_attribute("data-state", "waiting")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    begin.release()
    expect(page.locator(".card[data-status=start] .card-op")).to_have_text("probe.hold")
    expect(last_answer(page).locator("strong")).to_have_text("at once")
    (tmp_path / "go").touch()
    expect(last_answer(page).locator(".tail")).to_have_text("It has ")
    expect(page.get_by_role("status")).to_have_text("Answering")
    go_on.release()
    needs_user = page.locator(".card[data-for-user]")
    expect(needs_user).to_contain_text("util.web.search")
    expect(needs_user).to_contain_text("Needs you")
    expect(page.get_by_role("status")).to_have_text("Used tool util.web.search")
    page.set_viewport_size({"width": 1280, "height": 360})
    needs_user.locator("summary").click()  # whoever reads a card stays there while the answer grows
    page.evaluate("() => new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))")  # it scrolled
    more.release()
    wait_for_end(page)
    page.get_by_role("button", name="Jump to the latest message").click()
    expect(last_answer(page).locator(".text").last).to_be_in_viewport()
    needs_user.locator("summary").click()
    page.set_viewport_size(DESKTOP)
    expect(last_answer(page).locator(".figures-spent")).to_have_text(
        "4,800 tokens · $0.0029"
    )  # with those of the title
    expect(page.get_by_role("heading", name="A title by the model")).to_be_visible()


def test_markdown_looks_like_itself_while_it_arrives(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    answer: list[Step] = ["A list:\n\n- **one", "** <b>\n-", " two `x`\n", "- **thr", hold, "ee**\n\nEnd."]
    page = ask(site, open_chat, "A list", answer)

    lines = last_answer(page).locator(".tail-item")
    expect(lines).to_have_text(["one <b>", "two x", "thr"])
    expect(lines.nth(2).locator("strong")).to_have_text("thr")
    hold.release()
    wait_for_end(page)
    expect(last_answer(page).locator(".tail")).to_have_count(0)
    expect(last_answer(page).locator("li")).to_have_text(["one <b>", "two x", "three"])


def test_stop_keeps_what_was_written(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    page = ask(site, open_chat, "Write a lot", ["The first half", hold, " and the second."])
    expect(last_answer(page)).to_contain_text("The first half")

    page.get_by_role("button", name="Stop").click()
    wait_for_end(page, "cancelled")
    hold.release()
    expect(last_answer(page)).to_contain_text("You stopped this answer.")
    expect(last_answer(page).locator(".text")).to_have_text("The first half")
    expect(page.get_by_label("Message", exact=True)).to_be_enabled()

    never = Hold()
    plan_answers(site, [never, "Never shown."])
    waiting: list[Route] = []
    page.route("**/chat/api/stream", lambda route: waiting.append(route), times=1)
    send(page, "Stop at once")
    page.get_by_role("button", name="Stop").click()
    eventually(lambda: page.wait_for_timeout(10) or waiting, what="the request")
    waiting[0].continue_()
    wait_for_end(page, "cancelled")
    never.release()


def test_reload_while_streaming_goes_on_without_doubling(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    page = ask(site, open_chat, "Begin", ["One paragraph.\n\nAnd half", hold, " of another."])
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
    page = ask(site, open_chat, "Answer while I am away", ["Before", hold, " and after."])
    expect(last_answer(page)).to_contain_text("Before")
    id = read_conversation_id(page)
    item = page.locator(f'.conversation[data-id="{id}"]')
    expect(item.get_by_role("img", name="Answering")).to_be_visible()
    page.clock.install()
    page.get_by_role("link", name="New chat").click()
    expect(page.locator("#welcome")).to_be_visible()
    expect(item.get_by_role("img", name="Answering")).to_be_visible()
    hold.release()
    eventually(lambda: site_has_ended(page, id), what="the answer's end")
    page.clock.fast_forward(5_000)
    expect(item.get_by_role("img", name="Answering")).to_be_hidden()

    item.get_by_role("link").click()
    wait_for_end(page)
    expect(last_answer(page).locator(".text")).to_have_text("Before and after.")


def site_has_ended(page: Page, conversation_id: str) -> bool:
    messages = page.request.get(f"/chat/api/sessions/{conversation_id}").json()["messages"]
    return bool(messages[-1]["finish"])


def test_conversations_are_grouped_by_the_days_of_the_reader(
    site: ChatSite, open_chat: Callable[..., BrowserUser]
) -> None:
    page = open_chat(site.held_url, HISTORIAN, timezone_id="America/New_York").page
    page.clock.set_fixed_time(NOW)
    page.goto("/chat/")

    groups = ["Today", "Yesterday", "Previous 7 days", "Previous 30 days", "January", "February 2029"]
    expect(page.locator(".conversation-day")).to_have_text(groups)
    days = page.get_by_role("heading", name="Yesterday").locator("xpath=..").locator(".conversation-link")
    expect(days).to_have_text(["0.5 days ago", "1 days ago"])  # half a day ago it was 22:00 in New York


def test_broken_connection_is_resumed(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    plan_answers(site, ["It begins.\n\nThen the line", hold, " breaks, and the answer goes on."])
    with closing(CuttableLine(urlsplit(site.held_url).port or 0)) as line:
        page = open_chat(line.url).page
        page.goto("/chat/")
        send(page, "Go on without me")
        expect(last_answer(page).locator(".tail")).to_have_text("Then the line")

        line.cut()
        expect(page.locator("#connection")).to_contain_text("Connection lost.")
        hold.release()
        line.mend()
        wait_for_end(page)
        expect(page.locator("#connection")).to_be_hidden()
        expect(last_answer(page).locator(".text")).to_have_text(
            "It begins.\nThen the line breaks, and the answer goes on."
        )


def test_question_is_answered_again_and_edited_and_versions_are_switched(
    site: ChatSite, open_chat: Callable[..., BrowserUser]
) -> None:
    page = ask(site, open_chat, "A rhyme", ["Moon, soon."], ["Sea, tea."], ["Haus, Maus."])
    wait_for_end(page)
    page.get_by_role("button", name="Answer again").click()
    expect(last_answer(page).locator(".text")).to_have_text("Sea, tea.")
    wait_for_end(page)
    versions = last_answer(page).get_by_role("group", name="Versions")
    expect(versions).to_have_text("2/2")
    page.get_by_role("button", name="Previous version").click()
    expect(last_answer(page).locator(".text")).to_have_text("Moon, soon.")
    expect(versions).to_have_text("1/2")
    expect(page.get_by_role("button", name="Next version")).to_be_focused()

    page.get_by_label("Message", exact=True).press("ArrowUp")
    page.get_by_label("Edit the message", exact=True).and_(page.locator("textarea")).fill("A German rhyme")
    page.keyboard.press("Enter")
    expect(last_answer(page).locator(".text")).to_have_text("Haus, Maus.")
    wait_for_end(page)
    shown = page.locator("#transcript").inner_text()
    expect(page.locator(".question").get_by_role("group", name="Versions")).to_have_text("2/2")
    page.reload()
    assert page.locator("#transcript").inner_text() == shown
    page.get_by_role("button", name="Previous version").click()
    expect(page.locator(".question-text")).to_have_text("A rhyme")
    expect(last_answer(page).locator(".text")).to_have_text("Moon, soon.")


def test_failed_answer_is_sent_again(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["Now it works."])
    page = open_page(open_chat, site.held_url)
    site.gateway_line.cut()
    send(page, "Try this")

    wait_for_end(page, "error")
    expect(page.locator(".answer [role=alert]")).to_contain_text("It may still be starting")
    expect(page.locator(".figures").first).to_be_hidden()
    site.gateway_line.mend()
    page.get_by_role("button", name="Try again").click()
    wait_for_end(page)
    expect(last_answer(page)).to_contain_text("Now it works.")
    expect(page.locator(".question-text")).to_have_text(["Try this"])
    page.reload()
    expect(page.locator(".question-text")).to_have_text(["Try this"])


def test_failed_answer_says_what_it_had_written(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    create = ToolCallStep("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "Written before the failure"})
    page = ask(site, open_chat, "Create it", [create], [Refusal()], name="admin")

    wait_for_end(page, "error")
    expect(page.locator(".ledger").first).to_have_text("Created task “Written before the failure”")
    streamed = page.locator("#transcript").inner_text()
    page.reload()
    assert page.locator("#transcript").inner_text() == streamed
    page.get_by_role("button", name="Answer again").click()
    dialog = page.get_by_role("dialog", name="Do this again?")
    expect(dialog.get_by_role("listitem")).to_have_text("Created task “Written before the failure”")
    dialog.get_by_role("button", name="Cancel").click()
    assert page.locator("#transcript").inner_text() == streamed


def test_refusals_keep_the_text_and_say_what_helps(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["Sent."], ["Sent."], ["Sent."])
    limit = {"code": "rate_limited", "message": "More than 20 messages in a minute.", "retryable": True}
    busy = {"code": "too_many_turns", "message": "Too many answers are being written.", "retryable": True}
    person = open_chat(site.held_url)
    page, alert = person.page, person.page.get_by_role("alert")
    field = page.get_by_label("Message", exact=True)
    page.goto("/chat/")

    for status, error, text in ((429, limit, "Too many messages."), (503, busy, busy["message"])):
        refuse_next(page, status=status, json={"error": error}, headers={"Retry-After": "1"})
        send(page, "Too much")
        expect(alert).to_contain_text(f"{text}You can send again in 1 s.")
        expect(alert.locator("[aria-hidden]")).to_have_text("You can send again in 1 s.")  # not read out each second
        expect(field).to_have_value("Too much")
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        expect(page.locator(".question")).to_have_count(0)
        expect(page.get_by_role("status")).to_have_text("You can send again")
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()

    refuse_next(page, status=502, body="<h1>Bad gateway</h1>")  # by a proxy
    page.keyboard.press("Enter")
    expect(alert).to_contain_text("The chat answered with an error (502).")
    alert.get_by_role("button", name="Try again").click()
    wait_for_end(page)

    token = {"name": "csrftoken", "value": "a" * 32, "url": person.url}  # as after a sign-in in another tab
    person.context.add_cookies([token])  # type: ignore[list-item]
    send(page, "After another sign-in")
    expect(alert).to_contain_text("You signed in again since this page was loaded. Your text is kept.")
    alert.get_by_role("button", name="Reload").click()
    expect(page.locator(".answer")).to_have_count(1)
    expect(field).to_have_value("After another sign-in")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(2)
    wait_for_end(page)

    session = person.context.cookies()
    person.context.clear_cookies(name="sessionid")
    send(page, "After signing out")
    expect(alert).to_contain_text("You were signed out. Your text is kept.")
    alert.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Sign in to the chat")).to_be_visible()
    person.context.add_cookies(session)  # type: ignore[arg-type]
    page.reload()
    expect(field).to_have_value("After signing out")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(3)
    wait_for_end(page)


def refuse_next(page: Page, **response: Any) -> None:
    """Answer the next request for a stream instead of the server."""
    page.route("**/chat/api/stream", lambda route: route.fulfill(**response), times=1)


def test_second_message_while_an_answer_runs_is_explained(
    site: ChatSite, open_chat: Callable[..., BrowserUser]
) -> None:
    hold = Hold()
    plan_answers(site, ["First."], ["Second", hold, "."])
    page, other = (open_chat(site.held_url).page for _ in range(2))
    page.goto("/chat/")
    send(page, "Begin")
    wait_for_end(page)
    other.goto(f"/chat/c/{read_conversation_id(page)}/")

    send(page, "Go on")
    expect(last_answer(page)).to_contain_text("Second")
    send(other, "And I")
    expect(other.get_by_role("alert")).to_contain_text("An answer is still being written")
    expect(other.get_by_label("Message", exact=True)).to_have_value("And I")
    other.get_by_role("button", name="Show it").click()
    expect(last_answer(other)).to_contain_text("Second")
    hold.release()
    wait_for_end(page)
    wait_for_end(other)


def test_conversations_are_searched_renamed_and_deleted(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    page = ask(site, open_chat, "Which animal has stripes?", ["A zebra."])
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
        page.get_by_role("menuitem", name="Export as JSON").click()
    assert download.value.suggested_filename == f"conversation-{id}.json"
    item.get_by_role("button").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export as Markdown").click()
    assert download.value.suggested_filename == "stripes-b.md"
    item.get_by_role("button").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile("/chat/$"))
    expect(item).to_have_count(0)


def test_message_to_a_deleted_conversation_is_kept(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    page = ask(site, open_chat, "Hello", ["Soon gone."])
    wait_for_end(page)
    other = open_page(open_chat, site.held_url)
    other.locator(".conversation-more").click()
    other.get_by_role("menuitem", name="Delete").click()
    other.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(other.locator(".conversation")).to_have_count(0)
    expect(other.get_by_label("Search conversations")).to_be_focused()

    send(page, "Are you there?")
    expect(page.get_by_role("alert")).to_contain_text("This conversation was deleted.")
    page.get_by_role("alert").get_by_role("button", name="New chat").click()
    page.wait_for_url(re.compile("/chat/$"))
    expect(page.get_by_label("Message", exact=True)).to_have_value("Are you there?")


def test_answer_is_rated_and_copied_as_markdown(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["- **one**\n- two"])
    person = open_chat(site.held_url)
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = person.page
    page.goto("/chat/")
    send(page, "A list")
    wait_for_end(page)

    page.get_by_role("button", name="Bad answer").click()
    page.get_by_label("Reason").fill("Three were asked for.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Thank you")

    for _ in ("streamed", "loaded"):
        expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="Copy the answer").click()
        eventually(lambda: page.evaluate("navigator.clipboard.readText()") == "- **one**\n- two")
        page.evaluate("navigator.clipboard.writeText('')")
        page.reload()


def test_long_conversation_is_not_rendered_again(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["A short answer.\n\nIn two parts."])
    page = open_page(open_chat, site.held_url, READER)
    page.get_by_role("link", name="A long conversation").click()
    expect(page.locator(".question, .answer")).to_have_count(LONG_MESSAGES)
    expect(last_answer(page)).to_be_in_viewport()
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
    expect(page.locator(".question, .answer")).to_have_count(LONG_MESSAGES + 2)
    expect(last_answer(page)).to_contain_text("In two parts.")
    wait_for_end(page)

    assert page.evaluate("window.changed") == 0
    expect(last_answer(page)).to_be_in_viewport()


def test_panel_is_a_chat_about_one_place(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["This panel is about your calendar."])
    page = open_chat(site.held_url).page
    page.set_viewport_size({"width": 420, "height": 700})
    page.goto("/chat/panel/?type=calendar")
    expect(page.locator("#place-name")).to_have_text("Calendar")
    send(page, "What is this?")
    wait_for_end(page)
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
    eventually(lambda: any("frame-ancestors 'self'" in each for each in other.errors), what="the refusal")
    other.errors.clear()


def test_files_are_attached_dropped_removed_and_sent(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    plan_answers(site, ["I have them."])
    page = open_page(open_chat, site.held_url)
    field, send = page.get_by_label("Message", exact=True), page.get_by_role("button", name="Send", exact=True)
    chips = page.get_by_role("list", name="Attached files").first.get_by_role("listitem")
    field.fill("Keep these")
    page.locator("#files").set_input_files([build_file("Rechnung ü.csv", "text/csv"), build_file("a.png", "image/png")])
    expect(chips).to_have_text(["Rechnung ü.csv4 B", "a.pngnot attached"])
    expect(page.get_by_role("alert")).to_contain_text("a.png: The file is not what its type image/png says")
    expect(send).to_be_disabled()

    page.get_by_role("button", name="Remove a.png").press("Enter")
    expect(page.get_by_role("button", name="Remove Rechnung ü.csv")).to_be_focused()
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["a,b"], "dropped.csv", { type: "text/csv" }));
            const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
            document.querySelector("main").dispatchEvent(event);
        }"""
    )
    expect(chips).to_have_text(["Rechnung ü.csv4 B", "dropped.csv3 B"])
    page.reload()
    expect(chips).to_have_count(2)
    field.press("Enter")

    wait_for_end(page)
    expect(page.locator(".question-files li")).to_have_text(["Rechnung ü.csv", "dropped.csv"])
    shown = page.locator("#transcript").inner_text()
    page.reload()
    assert page.locator("#transcript").inner_text() == shown
    expect(page.locator(".attachment")).to_have_count(0)


def build_file(name: str, type: str) -> Any:
    return {"name": name, "mimeType": type, "buffer": b"a,b\n"}


def test_keyboard_alone_is_enough(site: ChatSite, open_chat: Callable[..., BrowserUser]) -> None:
    hold = Hold()
    plan_answers(site, ["Half", hold, "."], ["Whole."])
    page = open_page(open_chat, site.held_url)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("Two")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("lines")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).to_have_text("Two\nlines")
    expect(last_answer(page)).to_contain_text("Half")

    page.keyboard.press("Escape")
    wait_for_end(page, "cancelled")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Search conversations")).to_be_focused()
    page.get_by_label("Message", exact=True).focus()
    hold.release()
    page.keyboard.type("Again")
    page.keyboard.press("Enter")
    wait_for_end(page)


def test_empty_page_list_and_sign_in_are_accessible_and_fit_a_phone(
    browser: Browser, site: ChatSite, open_chat: Callable[..., BrowserUser]
) -> None:
    person = open_chat(site.held_url, HISTORIAN)
    page = person.page
    page.goto("/chat/")
    check_page_in_both_schemes(person)
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Conversations").click()
    check_page_in_both_schemes(person)
    page.locator(".conversation-more").first.click()
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Title", exact=True)).to_have_count(0)
    expect(page.locator("#sidebar")).to_be_visible()
    with browser_users.open_browser(browser, site.scripted_url) as stranger:
        stranger.page.goto("/chat/")
        check_page_in_both_schemes(stranger)


def check_page_in_both_schemes(person: BrowserUser) -> None:
    """Check with axe-core, the colours in both schemes, and on a phone that nothing is wider than the screen."""
    page, size = person.page, person.page.viewport_size
    assert size is not None
    assert person.find_accessibility_faults() == []
    page.emulate_media(color_scheme="dark")
    assert person.find_accessibility_faults("color-contrast") == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.set_viewport_size(size)
