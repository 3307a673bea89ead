/* The end of an answer that the server has not rendered yet: a light preview of its Markdown, made of text only.

Each line is formatted while it grows and never again, and all of it is replaced when its block is complete. */

import { createElement } from "./dom.js";

const MAX_LINE = 2_000; // characters; a longer line grows without being formatted again
const FENCE = /^\s*(```|~~~)/;
const HEADING = /^#{1,6} +(.*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)]) +(.*)/;
const INLINE = /(\*\*[^*]+\*\*|`[^`]+`)/;

export class Tail {
  constructor() {
    this.element = createElement("div", "tail");
    this.line = null;
    this.text = "";
    this.isCode = false;
  }

  add(delta) {
    const [first, ...others] = delta.split("\n");
    this.extend(first);
    for (const text of others) {
      this.endLine();
      this.extend(text);
    }
  }

  extend(text) {
    if (!text && !this.isCode) return;
    this.line ??= this.element.appendChild(createElement("div", "tail-line"));
    this.text += text;
    if (this.text.length > MAX_LINE) this.line.append(text);
    else formatLine(this.line, this.text, this.isCode);
  }

  endLine() {
    if (FENCE.test(this.text)) this.isCode = !this.isCode;
    this.line = null;
    this.text = "";
  }
}

function formatLine(line, text, isCode) {
  if (isCode || FENCE.test(text)) {
    line.className = "tail-line tail-code";
    line.textContent = FENCE.test(text) ? "" : text;
    return;
  }
  const item = ITEM.exec(text);
  const heading = HEADING.exec(text);
  line.className = `tail-line${item ? " tail-item" : ""}${heading ? " tail-heading" : ""}`;
  if (item) line.dataset.mark = /\d/.test(item[2]) ? item[2] : "•";
  line.replaceChildren(...formatInline(item?.[3] ?? heading?.[1] ?? text));
}

/** Return text nodes, and elements for bold text and code. Bold text that is not closed yet is also bold. */
function formatInline(text) {
  const closed = text.replace(/\*{1,2}$/, "");
  const isOpen = closed.split("**").length % 2 === 0;
  return (isOpen ? `${closed}**` : text).split(INLINE).map((part) => {
    if (part.length > 4 && part.startsWith("**")) return createElement("strong", "", part.slice(2, -2));
    if (part.length > 2 && part.startsWith("`")) return createElement("code", "", part.slice(1, -1));
    return document.createTextNode(part);
  });
}
