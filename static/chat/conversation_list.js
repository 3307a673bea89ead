/* The items of the list of conversations, those used last first, in a group for each day or longer. */

import { byId, cloneTemplate, createElement } from "./dom.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const GROUPS = [
  ["Today", 0],
  ["Yesterday", 1],
  ["Previous 7 days", 7],
  ["Previous 30 days", 30],
];

export class ConversationList {
  /** `items` that the server wrote have no groups yet: only the browser knows where its user's days begin. */
  constructor() {
    this.element = byId("conversations");
    this.arrange(this.items);
  }

  get items() {
    return [...this.element.querySelectorAll(".conversation")];
  }

  find(id) {
    return this.element.querySelector(`.conversation[data-id="${CSS.escape(id)}"]`);
  }

  replace(conversations) {
    this.arrange(conversations.map(buildItem));
  }

  append(conversations) {
    this.arrange([...this.items, ...conversations.map(buildItem)]);
  }

  /** Put a conversation at the top, as used now. */
  moveToTop(item) {
    item.dataset.updated = new Date().toISOString();
    this.arrange([item, ...this.items.filter((each) => each !== item)]);
  }

  remove(item) {
    this.arrange(this.items.filter((each) => each !== item));
  }

  arrange(items) {
    const groups = new Map();
    for (const item of items) {
      const name = nameDay(new Date(item.dataset.updated), new Date());
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    }
    this.element.replaceChildren(...[...groups].map(([name, members]) => buildGroup(name, members)));
    byId("no-conversations").hidden = items.length > 0;
  }
}

/** Return the group of a time: its day, or the weeks or the month that it lies in. */
export function nameDay(time, now) {
  const days = Math.round((startOfDay(now) - startOfDay(time)) / DAY_MS);
  const group = GROUPS.find(([, longestAgo]) => days <= longestAgo);
  if (group) return group[0];
  const year = time.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return time.toLocaleDateString("en", { month: "long", ...year });
}

function startOfDay(time) {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate());
}

function buildGroup(name, items) {
  const group = createElement("section", "conversation-group");
  const list = createElement("ul");
  list.append(...items);
  group.append(createElement("h2", "conversation-day", name), list);
  return group;
}

export function buildItem({ id, title, updated_at: updatedAt, is_answering: isAnswering }) {
  const item = cloneTemplate("conversation-template");
  item.dataset.id = id;
  item.dataset.updated = updatedAt;
  item.querySelector("a").href = `/chat/c/${id}/`;
  setItemTitle(item, title);
  setItemAnswering(item, isAnswering);
  return item;
}

export function readItemTitle(item) {
  return item.querySelector(".conversation-title").textContent;
}

export function setItemTitle(item, title) {
  const name = title || "Conversation";
  item.querySelector(".conversation-title").textContent = name;
  item.querySelector("button").setAttribute("aria-label", `More about ${name}`);
}

export function setItemAnswering(item, isAnswering) {
  item.querySelector(".conversation-answering").hidden = !isAnswering;
}

export function isItemAnswering(item) {
  return !item.querySelector(".conversation-answering").hidden;
}
