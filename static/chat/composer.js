/* The field for messages. What was typed is never lost: not if the server refuses it, and not on reload. */

import { announce, showCountdown } from "./announcer.js";
import { Attachments } from "./attachments.js";
import { byId } from "./dom.js";

const isTouch = matchMedia("(pointer: coarse)");

export class Composer {
  /** `onSend(text, files)`: the user sends what they typed and attached. `onStop()`: they stop the answer. */
  constructor({ conversationId, onSend, onStop }) {
    this.field = byId("message");
    this.sendButton = byId("send");
    this.stopButton = byId("stop");
    this.key = `chat-draft:${conversationId || "new"}`;
    this.isRunning = false;
    this.blockedUntil = 0;
    this.onSend = onSend;
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.stopButton.addEventListener("click", onStop);
    this.field.addEventListener("input", () => this.update());
    window.addEventListener("resize", () => this.update());
    this.field.addEventListener("keydown", (event) => this.noteKey(event));
    if (!this.field.value) this.field.value = sessionStorage.getItem(this.key) ?? "";
    // After the text: what they change is stored with it.
    this.attachments = new Attachments({ key: `${this.key}:files`, onChange: () => this.update() });
    this.update();
  }

  submit() {
    const text = this.field.value.trim();
    if (!text || !this.canSend() || this.attachments.isPending) return;
    this.setText("");
    this.onSend(text, this.attachments.take());
  }

  canSend() {
    return !this.isRunning && Date.now() >= this.blockedUntil;
  }

  /** Put a refused message back, before any text typed since. */
  restore(text, files = []) {
    this.attachments.restore(files);
    const rest = this.field.value.trim();
    this.setText(rest && rest !== text ? `${text}\n\n${rest}` : text);
    this.field.focus();
  }

  setText(text) {
    this.field.value = text;
    this.update();
  }

  setRunning(isRunning) {
    const hadFocus = [this.sendButton, this.stopButton].includes(document.activeElement);
    this.isRunning = isRunning;
    this.stopButton.disabled = false;
    this.update();
    if (hadFocus) this.field.focus();
  }

  /** Say that the answer is being stopped, until it has ended. */
  setStopping() {
    if (this.stopButton === document.activeElement) this.field.focus();
    this.stopButton.disabled = true;
  }

  /** Keep drafts separate: from now on this is another conversation. */
  moveTo(conversationId) {
    sessionStorage.removeItem(this.key);
    this.key = `chat-draft:${conversationId}`;
    this.attachments.moveTo(`${this.key}:files`);
    this.update();
  }

  /** Block sending for some seconds, and count them down in the alert. */
  block(seconds, text) {
    this.blockedUntil = Date.now() + seconds * 1000;
    this.update();
    showCountdown(text, seconds, () => {
      this.update();
      announce("You can send again");
    });
  }

  noteKey(event) {
    const begins = event.key === "Enter" && !event.shiftKey && !event.isComposing && !isTouch.matches;
    if (!begins) return;
    event.preventDefault();
    this.submit();
  }

  update() {
    const text = this.field.value;
    this.sendButton.hidden = this.isRunning;
    this.stopButton.hidden = !this.isRunning;
    const isPending = this.attachments?.isPending; // there are none yet while they are made
    this.sendButton.disabled = !text.trim() || !this.canSend() || Boolean(isPending);
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    if (text) sessionStorage.setItem(this.key, text);
    else sessionStorage.removeItem(this.key);
  }
}
