/* The list of conversations: search, more, rename and delete. The panel has none, and uses NO_CONVERSATIONS. */

import { showAlert, showToast } from "./announcer.js";
import { sendJson } from "./api.js";
import { ConversationList, buildItem, isItemAnswering, readItemTitle, setItemAnswering, setItemTitle } from "./conversation_list.js";
import { byId, createElement } from "./dom.js";

const SEARCH_PAUSE_MS = 200;
const LOOK_AGAIN_MS = 4_000;
const MAX_TITLE = 60;

export class Conversations {
  newUrl = "/chat/";

  constructor() {
    this.list = new ConversationList();
    this.menu = byId("conversation-menu");
    this.dialog = byId("delete-dialog");
    this.search = byId("search");
    this.item = null; // whose menu is open
    this.list.element.addEventListener("click", (event) => {
      const button = event.target.closest(".conversation-more");
      if (button) this.openMenu(button);
    });
    this.menu.addEventListener("click", (event) => this.choose(event.target.closest("[data-action]")));
    this.menu.addEventListener("keydown", (event) => this.moveInMenu(event));
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), SEARCH_PAUSE_MS);
    });
    byId("more-conversations").addEventListener("click", () => this.load({ isMore: true }));
    this.dialog.addEventListener("close", () => this.dialog.returnValue === "delete" && this.delete(this.item));
    this.watchAnswering();
  }

  get currentId() {
    return document.body.dataset.conversation;
  }

  /** Show a new conversation in the address, so that a reload finds it. */
  openNew(id) {
    history.replaceState(null, "", `/chat/c/${id}/`);
  }

  /** Put a conversation at the top of the list, also one that is not there yet. */
  moveToTop(id, title) {
    let item = this.list.find(id);
    if (!item) {
      item = buildItem({ id, title });
      item.querySelector("a").setAttribute("aria-current", "page");
      this.setHeading(title);
    }
    this.list.moveToTop(item);
  }

  setTitle(id, title) {
    const item = this.list.find(id);
    if (item) setItemTitle(item, title);
    this.setHeading(title);
  }

  setAnswering(id, isAnswering) {
    const item = this.list.find(id);
    if (item) setItemAnswering(item, isAnswering);
  }

  /** Other conversations may also be answering: check again until none is. */
  watchAnswering() {
    clearTimeout(this.watch);
    const others = () => this.list.items.filter((item) => isItemAnswering(item) && item.dataset.id !== this.currentId);
    if (!others().length) return;
    this.watch = setTimeout(async () => {
      if (document.visibilityState === "visible") {
        const page = await sendJson("GET", "sessions").catch((problem) =>
          problem.status === 401 ? { conversations: [] } : null, // signed out: no more; else it is asked again
        );
        const answering = new Set(page?.conversations.filter((each) => each.is_answering).map((each) => each.id));
        if (page) others().forEach((item) => setItemAnswering(item, answering.has(item.dataset.id)));
      }
      this.watchAnswering();
    }, LOOK_AGAIN_MS);
  }

  setHeading(title) {
    byId("title").textContent = title;
    document.title = `${title} · Chat`;
  }

  async load({ isMore = false } = {}) {
    const query = new URLSearchParams({ q: this.search.value.trim() });
    if (isMore) query.set("cursor", this.list.element.dataset.cursor);
    try {
      const page = await sendJson("GET", `sessions?${query}`);
      if (query.get("q") !== this.search.value.trim()) return; // typed on meanwhile
      this.showPage(page, isMore);
    } catch (problem) {
      showAlert(problem.message);
    }
  }

  showPage(page, isMore) {
    if (isMore) this.list.append(page.conversations);
    else this.list.replace(page.conversations);
    this.list.find(this.currentId)?.querySelector("a").setAttribute("aria-current", "page");
    this.list.element.dataset.cursor = page.next_cursor ?? "";
    this.watchAnswering();
    byId("more-conversations").hidden = !page.next_cursor;
    byId("no-conversations").textContent = this.search.value.trim() ? "Nothing found" : "No conversations yet";
  }

  openMenu(button) {
    this.item = button.closest(".conversation");
    const { id } = this.item.dataset;
    this.menu.querySelector("[data-action=export-markdown]").href = `/chat/c/${id}/markdown/`;
    this.menu.querySelector("[data-action=export]").href = `/chat/api/sessions/${id}/export`;
    this.menu.showPopover();
    const { bottom, right } = button.getBoundingClientRect();
    const { offsetHeight, offsetWidth } = this.menu;
    this.menu.style.top = `${Math.min(bottom + 4, innerHeight - offsetHeight - 8)}px`;
    this.menu.style.left = `${Math.max(8, right - offsetWidth)}px`;
    this.menu.querySelector("[role=menuitem]").focus();
  }

  moveInMenu(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Tab") this.menu.hidePopover();
    if (!step) return;
    event.preventDefault();
    const entries = [...this.menu.querySelectorAll("[role=menuitem]")];
    const next = entries.indexOf(document.activeElement) + step;
    entries.at(next % entries.length).focus();
  }

  choose(entry) {
    if (!entry) return;
    this.menu.hidePopover();
    if (entry.dataset.action === "rename") this.startRename(this.item);
    if (entry.dataset.action === "delete") {
      byId("delete-name").textContent = readItemTitle(this.item);
      this.dialog.returnValue = "";
      this.dialog.showModal();
    }
  }

  /** Put a field in place of the title. Enter and leaving the field save, Escape does not. */
  startRename(item) {
    const link = item.querySelector("a");
    const field = createElement("input", "rename");
    field.value = readItemTitle(item);
    field.maxLength = MAX_TITLE;
    field.setAttribute("aria-label", "Title");
    let isOver = false;
    const end = (isSaved) => {
      if (isOver) return;
      isOver = true;
      field.replaceWith(link);
      link.focus();
      const title = field.value.trim();
      if (isSaved && title && title !== readItemTitle(item)) this.rename(item, title);
    };
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) end(true);
      if (event.key !== "Escape") return;
      event.preventDefault(); // on phones it would close the list
      end(false);
    });
    link.replaceWith(field);
    field.select();
  }

  async rename(item, title) {
    try {
      const renamed = await sendJson("PATCH", `sessions/${item.dataset.id}`, { title });
      setItemTitle(item, renamed.title);
      if (renamed.id === this.currentId) this.setHeading(renamed.title);
      showToast("Renamed");
    } catch (problem) {
      showAlert(problem.message);
    }
  }

  async delete(item) {
    try {
      await sendJson("DELETE", `sessions/${item.dataset.id}`);
    } catch (problem) {
      showAlert(problem.message);
      return;
    }
    if (item.dataset.id === this.currentId) location.assign(this.newUrl);
    const at = this.list.items.indexOf(item);
    this.list.remove(item);
    (this.list.items.at(Math.min(at, this.list.items.length - 1))?.querySelector("a") ?? this.search).focus();
    showToast("Conversation deleted");
  }
}

/** What the panel has instead of a list. Its address names the conversation, so that a reload finds it. */
export const NO_CONVERSATIONS = {
  newUrl: "/chat/panel/",
  moveToTop() {},
  setAnswering() {},
  openNew(id) {
    history.replaceState(null, "", `?session=${id}`);
    byId("open-full").href = `/chat/c/${id}/`;
  },
  setTitle(id, title) {
    byId("title").textContent = title;
    document.title = `${title} · Chat`;
  },
};
