/* The messages on the page, and where the reader is in them. */

import { Answer } from "./answer.js";
import { leaveUndone, showForms } from "./card.js";
import { byId, cloneTemplate, createElement } from "./dom.js";

const NEAR_END = 80; // pixels

export class Transcript {
  constructor() {
    this.element = byId("transcript");
    this.scroller = byId("scroller");
    this.jump = byId("jump");
    this.follows = true; // whether the reader is at the end
    this.heldTop = null; // where they opened something, until they scroll
    this.isLive = false; // whether an answer is being written
    this.isScheduled = false;
    this.scroller.addEventListener("scroll", () => this.noteScroll(), { passive: true });
    this.jump.addEventListener("click", () => this.scrollToEnd());
    new ResizeObserver(() => this.keepUp()).observe(this.element);
    if (this.element.childElementCount) this.scrollToEnd();
  }

  addQuestion(text, files = []) {
    const question = cloneTemplate("question-template");
    const list = question.querySelector(".question-files");
    list.hidden = !files.length;
    for (const { name } of files) {
      const chip = createElement("li", "chip");
      chip.append(createElement("span", "", name));
      list.append(chip);
    }
    question.querySelector(".question-text").textContent = text;
    question.classList.add("is-new");
    this.element.append(question);
    document.body.classList.remove("is-empty");
    this.scrollToEnd();
    return question;
  }

  addAnswer() {
    const answer = Answer.create();
    this.element.append(answer.element);
    this.scrollToEnd();
    return answer;
  }

  /** Return the answer that runs, null if there is none. */
  findRunning() {
    const last = this.element.lastElementChild;
    return last?.matches('.answer[data-state="waiting"]') ? new Answer(last) : null;
  }

  findLastQuestion() {
    return [...this.element.querySelectorAll(".question")].at(-1);
  }

  /** Close the questions about calls: the user went on without an answer to them. */
  closeQuestions() {
    this.element.querySelectorAll('.card[data-status="confirm"]').forEach(leaveUndone);
  }

  /** Return what the answers after a question have written, in words. */
  listWrites(question) {
    return listAfter(question).flatMap((answer) => {
      const lines = answer.querySelectorAll('.ledger li[data-done="true"]');
      return [...lines].map((line) => line.textContent);
    });
  }

  /** Take out what follows a question, or also the question. Return a function that puts it back. */
  takeOut(question, { isEdited }) {
    const taken = [...(isEdited ? [question] : []), ...listAfter(question)];
    taken.forEach((each) => each.remove());
    return () => this.element.append(...taken);
  }

  /** Read the messages from the server again. */
  async reload() {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const transcript = page.getElementById("transcript");
    if (transcript) {
      this.element.replaceChildren(...transcript.children);
      showForms(this.element);
    } else location.reload(); // signed out, or deleted
  }

  /** Take back what was added for a message that was refused. */
  remove(...elements) {
    elements.forEach((element) => element?.remove());
    document.body.classList.toggle("is-empty", this.element.childElementCount === 0);
  }

  noteScroll() {
    const isAtEnd = this.isAtEnd();
    // A slow page may report only now what it scrolled before the reader opened something.
    if (this.scroller.scrollTop !== this.heldTop) [this.follows, this.heldTop] = [isAtEnd, null];
    this.jump.hidden = isAtEnd;
  }

  isAtEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  /** The transcript has grown or shrunk: go to its end if the reader follows it, else offer to. */
  keepUp() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      if (this.isLive && this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
      else this.jump.hidden = this.isAtEnd();
    });
  }

  /** An answer begins or ends. At its end, its last lines are shown. */
  setLive(isLive) {
    if (this.isLive && !isLive && this.follows) this.scrollToEnd();
    this.isLive = isLive;
  }

  /** Stay where the reader is: they have opened something. */
  holdStill() {
    this.follows = false;
    this.heldTop = this.scroller.scrollTop;
  }

  scrollToEnd() {
    this.follows = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

function listAfter(question) {
  const all = [...question.parentElement.children];
  return all.slice(all.indexOf(question) + 1);
}
