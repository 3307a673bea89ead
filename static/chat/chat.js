/* The conversation on the page: sends messages and decisions, and shows the events of the turn that answers them. */

import { announce, showAlert, showConnection, showToast } from "./announcer.js";
import { ApiProblem, sendJson } from "./api.js";
import { readSource } from "./answer.js";
import { byId, readData } from "./dom.js";
import { Outcome, TurnStream } from "./turn_stream.js";

const RATE_LIMITED = 429;

export class Chat {
  constructor({ transcript, composer, conversations }) {
    this.transcript = transcript;
    this.composer = composer;
    this.conversations = conversations;
    this.id = document.body.dataset.conversation;
    this.stream = null;
    this.answer = null;
    this.messageId = "";
  }

  /** Send a message. If it is refused, its text goes back into the field. */
  async send(text) {
    if (this.stream) return;
    const question = this.transcript.addQuestion(text);
    const body = { message: text, ...(this.id ? { session_id: this.id } : { context: readData("place-data") }) };
    const problem = await this.run((stream) => stream.start(body), { onAccepted: () => this.accept(text) });
    if (problem) {
      this.transcript.remove(question);
      this.composer.restore(text);
      this.explain(problem);
    }
  }

  accept(text) {
    this.transcript.closeQuestions();
    this.conversations.moveToTop(this.id, text);
  }

  /** Send the last question again. */
  retry() {
    const text = this.transcript.readLastQuestion();
    if (text && this.composer.canSend()) this.send(text);
  }

  /** Answer the question about a call. */
  async decide(card, approve) {
    if (this.stream) return;
    const buttons = card.querySelectorAll("[data-decide]");
    buttons.forEach((button) => (button.disabled = true));
    const body = { session_id: this.id, decision: { call_id: card.dataset.call, approve } };
    const problem = await this.run((stream) => stream.start(body));
    if (!problem) return;
    buttons.forEach((button) => (button.disabled = false));
    this.explain(problem);
  }

  /** Follow the turn that ran when the page was loaded. */
  async resume() {
    const answer = this.transcript.findRunning();
    if (!answer) return;
    this.messageId = answer.element.dataset.message;
    const problem = await this.run((stream) => stream.resume(this.messageId), { answer });
    if (problem) this.explain(problem);
  }

  async stop() {
    if (!this.stream || !this.messageId) return;
    this.composer.setStopping();
    try {
      await sendJson("POST", `sessions/${this.id}/cancel`, { message_id: this.messageId });
    } catch (problem) {
      this.composer.setRunning(true);
      this.explain(problem);
    }
  }

  /** Begin a new conversation with what is in the field. */
  startNew() {
    this.composer.moveTo("new");
    location.assign(this.conversations.newUrl);
  }

  leave() {
    this.stream?.leave();
  }

  /** Follow one turn to its end. Return the ApiProblem if it was not even begun. */
  async run(follow, { answer = this.transcript.addAnswer(), onAccepted = () => {} } = {}) {
    showAlert("");
    this.answer = answer;
    this.onAccepted = onAccepted;
    this.stream = new TurnStream({
      onEvent: (type, data) => this.show(type, data),
      onConnection: (isLost) => this.noteConnection(isLost),
    });
    this.composer.setRunning(true);
    this.transcript.setLive(true);
    announce("Waiting for the answer");
    try {
      this.end(await follow(this.stream));
      return null;
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      this.transcript.remove(answer.element);
      announce("");
      return problem;
    } finally {
      this.stream = null;
      this.messageId = "";
      this.transcript.setLive(false);
      this.composer.setRunning(false);
    }
  }

  end(outcome) {
    if (outcome === Outcome.GONE) location.reload(); // the events are gone; the messages are in the database
    if (outcome === Outcome.LOST) {
      showConnection("");
      const reload = { label: "Load again", action: () => location.reload() };
      showAlert("The connection was lost for five minutes. The answer may be complete.", reload);
    }
  }

  show(type, data) {
    HANDLERS[type]?.(this, data);
  }

  noteSession({ session_id: id, message_id: messageId }) {
    this.messageId = messageId;
    this.answer.setId(messageId);
    if (!this.id) {
      this.id = document.body.dataset.conversation = id;
      this.composer.moveTo(id);
      this.conversations.openNew(id);
    }
    this.onAccepted();
  }

  noteContext(data) {
    this.answer.showContext(data);
    if (data.name) {
      byId("place-name").textContent = data.name;
      byId("place").hidden = false;
    }
  }

  noteTool(data) {
    this.answer.showTool(data);
    if (data.status === "confirm") announce("Your decision is needed");
    else if (data.status !== "start") announce(`Used tool ${data.op || data.name}`);
  }

  noteDone(data) {
    this.answer.finish(data);
    if (data.title) this.conversations.setTitle(this.id, data.title);
    if (data.reason === "cancelled") announce("Answer stopped");
    else if (!document.querySelector('.card[data-status="confirm"]')) announce("Answer complete");
  }

  noteError(error) {
    this.answer.fail(error);
    announce("");
  }

  noteConnection(isLost) {
    showConnection(isLost ? "Connection lost. The answer goes on; reconnecting…" : "");
    if (isLost) announce("Connection lost. Reconnecting.");
  }

  /** Say what to do about a request that was refused. */
  explain(problem) {
    if (problem.retryAfter !== null && problem.retryAfter !== undefined) {
      const text = problem.status === RATE_LIMITED ? "Too many messages at once." : problem.message;
      this.composer.block(problem.retryAfter, text);
    } else if (problem.code === "turn_running") {
      const text = "An answer is still being written in this conversation. Your text is kept.";
      showAlert(text, { label: "Show it", action: () => location.reload() });
    } else if (problem.code === "not_found") {
      const text = "This conversation was deleted. Your text is kept.";
      showAlert(text, { label: "New chat", action: () => this.startNew() });
    } else if (problem.status === 401) {
      const text = "You were signed out. Your text is kept.";
      showAlert(text, { label: "Sign in", action: () => location.reload() });
    } else {
      showAlert(problem.message);
    }
  }
}

const HANDLERS = {
  session: (chat, data) => chat.noteSession(data),
  context: (chat, data) => chat.noteContext(data),
  text: (chat, data) => {
    chat.answer.addText(data);
    if (data.delta.trim()) announce("Answering"); // blank lines come between two rounds
  },
  tool: (chat, data) => chat.noteTool(data),
  usage: (chat, data) => chat.answer.showUsage(data),
  done: (chat, data) => chat.noteDone(data),
  error: (chat, data) => chat.noteError(data),
};

/** Copy an answer as Markdown. */
export async function copyAnswer(element) {
  try {
    await navigator.clipboard.writeText(readSource(element));
    showToast("Copied");
  } catch {
    showToast("The browser does not allow copying here");
  }
}
