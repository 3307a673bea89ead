/* The list of conversations: search, more, rename and delete. The panel has none, and uses NO_CONVERSATIONS. */

import { showAlert, showToast } from "./announcer.js";
import { sendJson } from "./api.js";
import { byId, cloneTemplate, createElement } from "./dom.js";

const SEARCH_PAUSE_MS = 200;
const MAX_TITLE = 60;

export class Conversations {
  newUrl = "/chat/";

  constructor() {
    this.list = byId("conversations");
    this.menu = byId("conversation-menu");
    this.dialog = byId("delete-dialog");
    this.search = byId("search");
    this.item = null; // whose menu is open
    this.list.addEventListener("click", (event) => {
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
  }

  find(id) {
    return this.list.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }

  /** Show a new conversation in the address, so that a reload finds it. */
  openNew(id) {
    history.replaceState(null, "", `/chat/c/${id}/`);
  }

  /** Put a conversation at the top of the list; a new one with its first message as the title. */
  moveToTop(id, text) {
    let item = this.find(id);
    if (!item) {
      item = this.buildItem({ id, title: text.slice(0, MAX_TITLE) });
      item.querySelector("a").setAttribute("aria-current", "page");
      this.setHeading(text.slice(0, MAX_TITLE));
    }
    this.list.prepend(item);
    byId("no-conversations").hidden = true;
  }

  setTitle(id, title) {
    const item = this.find(id);
    if (item) this.fillItem(item, { id, title });
    this.setHeading(title);
  }

  setHeading(title) {
    byId("title").textContent = title;
    document.title = `${title} · Chat`;
  }

  async load({ isMore = false } = {}) {
    const query = new URLSearchParams({ q: this.search.value.trim() });
    if (isMore) query.set("cursor", this.list.dataset.cursor);
    try {
      const page = await sendJson("GET", `sessions?${query}`);
      if (!isMore && query.get("q") !== this.search.value.trim()) return; // typed on meanwhile
      this.showPage(page, isMore);
    } catch (problem) {
      showAlert(problem.message);
    }
  }

  showPage(page, isMore) {
    const items = page.conversations.map((each) => this.buildItem(each));
    if (isMore) this.list.append(...items);
    else this.list.replaceChildren(...items);
    this.find(document.body.dataset.conversation)?.querySelector("a").setAttribute("aria-current", "page");
    this.list.dataset.cursor = page.next_cursor ?? "";
    byId("more-conversations").hidden = !page.next_cursor;
    byId("no-conversations").hidden = this.list.childElementCount > 0;
    byId("no-conversations").textContent = this.search.value.trim() ? "Nothing found" : "No conversations yet";
  }

  buildItem(conversation) {
    const item = cloneTemplate("conversation-template");
    this.fillItem(item, conversation);
    return item;
  }

  fillItem(item, { id, title }) {
    const name = title || "Conversation";
    item.dataset.id = id;
    const link = item.querySelector("a");
    link.href = `/chat/c/${id}/`;
    link.textContent = name;
    item.querySelector("button").setAttribute("aria-label", `More about ${name}`);
  }

  openMenu(button) {
    this.item = button.closest(".conversation");
    this.menu.querySelector("[data-action=export]").href = `/chat/api/sessions/${this.item.dataset.id}/export`;
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
      byId("delete-name").textContent = this.item.querySelector("a").textContent;
      this.dialog.returnValue = "";
      this.dialog.showModal();
    }
  }

  /** Put a field in place of the title. Enter and leaving the field save, Escape does not. */
  startRename(item) {
    const link = item.querySelector("a");
    const field = createElement("input", "rename");
    field.value = link.textContent;
    field.maxLength = MAX_TITLE;
    field.setAttribute("aria-label", "Title");
    let isOver = false;
    const end = (isSaved) => {
      if (isOver) return;
      isOver = true;
      field.replaceWith(link);
      link.focus();
      const title = field.value.trim();
      if (isSaved && title && title !== link.textContent) this.rename(item, title);
    };
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) end(true);
      if (event.key === "Escape") end(false);
    });
    link.replaceWith(field);
    field.select();
  }

  async rename(item, title) {
    try {
      const renamed = await sendJson("PATCH", `sessions/${item.dataset.id}`, { title });
      this.fillItem(item, renamed);
      if (renamed.id === document.body.dataset.conversation) this.setHeading(renamed.title);
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
    if (item.dataset.id === document.body.dataset.conversation) location.assign(this.newUrl);
    item.remove();
    byId("no-conversations").hidden = this.list.childElementCount > 0;
    showToast("Conversation deleted");
  }
}

/** What the panel has instead of a list. Its address names the conversation, so that a reload finds it. */
export const NO_CONVERSATIONS = {
  newUrl: "/chat/panel/",
  moveToTop() {},
  openNew(id) {
    history.replaceState(null, "", `?session=${id}`);
    byId("open-full").href = `/chat/c/${id}/`;
  },
  setTitle(id, title) {
    byId("title").textContent = title;
    document.title = `${title} · Chat`;
  },
};
