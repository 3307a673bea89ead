/* The field for messages. What was typed is never lost: not if the server refuses it, and not on reload. */

import { announce, showCountdown } from "./announcer.js";
import { byId } from "./dom.js";

const isTouch = matchMedia("(pointer: coarse)");

export class Composer {
  /** `onSend(text)`: the user sends what they typed. `onStop()`: they stop the answer. */
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
    this.update();
  }

  submit() {
    const text = this.field.value.trim();
    if (!text || !this.canSend()) return;
    this.setText("");
    this.onSend(text);
  }

  canSend() {
    return !this.isRunning && Date.now() >= this.blockedUntil;
  }

  /** Put a refused message back, before any text typed since. */
  restore(text) {
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
    this.sendButton.disabled = !text.trim() || !this.canSend();
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    if (text) sessionStorage.setItem(this.key, text);
    else sessionStorage.removeItem(this.key);
  }
}
