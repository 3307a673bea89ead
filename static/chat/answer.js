/* One answer on the page. Events only ever add to its end, or change a card: earlier text is never rendered again. */

import { createCard, findCard, updateCard } from "./card.js";
import { cloneTemplate, createElement } from "./dom.js";
import { showServing, showUsage } from "./figures.js";
import { Tail } from "./tail.js";
import { WaitingTime } from "./waiting_time.js";
import { describeWrite, dropRepaired, isTold } from "./wording.js";

const NOTES = {
  cancelled: "You stopped this answer.",
  limit: "This answer reached the limit of one turn. Write “go on” to continue.",
};

const RUNNING = new Set(["waiting", "tool", "streaming"]);

export class Answer {
  constructor(element) {
    this.element = element;
    this.pieces = element.querySelector(".pieces");
    this.figures = element.querySelector(".figures");
    this.waiting = new WaitingTime(element.querySelector(".waiting-long"));
    this.source = "";
    this.tail = null; // the text after the last block, which the server has not rendered yet
    if (element.dataset.state === "waiting") this.waiting.start();
  }

  /** Return a new answer, which waits for its first event. */
  static create() {
    return new Answer(cloneTemplate("answer-template"));
  }

  setState(state) {
    this.element.dataset.state = state;
    if (RUNNING.has(state)) this.waiting.start();
    else this.waiting.stop();
  }

  setId(messageId) {
    this.element.dataset.message = messageId;
  }

  /** Add a piece of what the model thinks, which is folded. */
  addReasoning({ delta }) {
    const reasoning = this.element.querySelector(".reasoning");
    reasoning.hidden = false;
    reasoning.querySelector(".reasoning-text").append(delta);
    this.waiting.start();
  }

  /** Add a piece of text. `block` is HTML by the server of everything since the last block but `rest`. */
  addText({ delta, block }) {
    this.source += delta;
    if (this.source.trim()) this.setState("streaming");
    if (delta) this.addToTail(delta);
    if (block) this.closeBlock(block);
  }

  addToTail(delta) {
    if (!this.tail) {
      if (!delta.trim()) return; // blank lines between two rounds
      this.tail = new Tail();
      this.openText().append(this.tail.element);
    }
    this.tail.add(delta);
  }

  closeBlock({ html, rest }) {
    const text = this.openText();
    this.tail?.element.remove();
    this.tail = null;
    const fragment = document.createElement("template");
    fragment.innerHTML = html; // cleaned by the server (chat/markdown.py); all else is set as text
    text.append(fragment.content);
    if (rest.trim()) this.addToTail(rest);
  }

  /** Return the element for text at the end: the last one, or a new one after cards. */
  openText() {
    const last = this.pieces.lastElementChild;
    return last?.classList.contains("text") ? last : this.pieces.appendChild(createElement("div", "text"));
  }

  /** Show a call, or a change of one. A call of an earlier answer stays there, unless it still waits for the user. */
  showTool(data) {
    const card = findCard(data.id);
    if (card) updateCard(card, data);
    const isAskedAgain = card && data.status === "confirm" && !this.element.contains(card);
    if (card && !isAskedAgain) return;
    this.tail = null;
    const last = this.pieces.lastElementChild;
    const cards = last?.classList.contains("cards") ? last : this.pieces.appendChild(createElement("div", "cards"));
    cards.append(card ?? createCard(data));
    this.setState("tool");
  }

  /** Show how a call goes on, in the words of its service. */
  showProgress({ id, done, total, message }) {
    const headline = findCard(id)?.querySelector(".card-headline");
    const count = done == null ? "" : total == null ? String(done) : `${done} of ${total}`;
    if (headline) headline.textContent = [message, count].filter(Boolean).join(" · ");
  }

  showContext(data) {
    if (data.layers) showServing(this.figures, this.element.dataset.message, data);
  }

  showUsage(data) {
    showUsage(this.figures, data);
  }

  finish({ reason, written }) {
    this.setState(reason);
    this.showWrites(written);
    this.showNote(NOTES[reason] ?? "", { canRetry: false });
    this.storeSource();
  }

  fail({ message, retryable, written = [] }) {
    this.setState("error");
    this.showWrites(written);
    this.element.querySelector(".note").setAttribute("role", "alert");
    this.showNote(message, { canRetry: retryable });
    this.storeSource();
  }

  showWrites(written) {
    const lines = dropRepaired(written).map((operation) => {
      const line = createElement("li", "", describeWrite(operation));
      line.dataset.done = String(operation.status === "success");
      line.toggleAttribute("data-told", isTold(operation, this.source));
      return line;
    });
    const ledger = this.element.querySelector(".ledger");
    ledger.replaceChildren(...lines);
    ledger.hidden = lines.length === 0;
  }

  showNote(text, { canRetry }) {
    const note = this.element.querySelector(".note");
    note.hidden = !text;
    note.querySelector(".note-text").textContent = text;
    note.querySelector("button").hidden = !canRetry;
  }

  storeSource() {
    this.element.querySelector(".source").content.textContent = this.source.trim();
  }
}

/** Return an answer's Markdown. */
export function readSource(element) {
  return element.querySelector(".source").content.textContent;
}
