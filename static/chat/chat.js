/* The conversation on the page: sends messages and decisions, and shows the events of the turn that answers them. */

import { announce, showAlert, showConnection, showToast } from "./announcer.js";
import { ApiProblem, sendJson } from "./api.js";
import { readSource } from "./answer.js";
import { byId, readData } from "./dom.js";
import { readForm } from "./question_form.js";
import { Outcome, TurnStream } from "./turn_stream.js";
import { confirmRepeat, showVersions, startEdit } from "./versions.js";

const RATE_LIMITED = 429;
const SERVER_ERROR = 500;

export class Chat {
  constructor({ transcript, composer, conversations }) {
    this.transcript = transcript;
    this.composer = composer;
    this.conversations = conversations;
    this.id = document.body.dataset.conversation;
    this.stream = null;
    this.answer = null;
    this.question = null; // that the page has added
    this.messageId = "";
    this.isStopping = false;
  }

  /** Send a message. If it is refused, its text goes back into the field. */
  async send(text, files = []) {
    if (this.stream) return;
    const question = this.transcript.addQuestion(text, files);
    const body = { message: text, ...(files.length ? { files } : {}), ...(this.id ? { session_id: this.id } : { context: readData("place-data") }) };
    const problem = await this.run((stream) => stream.start(body), { question, onAccepted: (title) => this.accept(title) });
    if (problem) {
      this.transcript.remove(question);
      this.composer.restore(text, files);
      this.explain(problem, { isTextKept: true, retry: () => this.composer.submit() });
    }
  }

  accept(title) {
    this.transcript.closeQuestions();
    this.conversations.moveToTop(this.id, title);
  }

  /** Ask the last question again, for another answer. */
  answerAgain() {
    const question = this.transcript.findLastQuestion();
    if (question && this.composer.canSend()) this.replace(question);
  }

  edit(question) {
    if (this.composer.canSend()) startEdit(question, (text) => this.replace(question, text));
  }

  /** Replace the answer to a question by another one; with a text, the question too. Ask if something was written. */
  async replace(question, text = "") {
    const writes = this.transcript.listWrites(question);
    if (writes.length && !(await confirmRepeat(writes))) return;
    const putBack = this.transcript.takeOut(question, { isEdited: Boolean(text) });
    const edited = text ? this.transcript.addQuestion(text, listFiles(question)) : null; // it keeps its files
    const body = {
      session_id: this.id,
      replaces: question.dataset.message,
      ...(text ? { message: text } : {}),
      ...(writes.length ? { repeat_writes: true } : {}),
    };
    const onAccepted = (title) => this.conversations.moveToTop(this.id, title);
    const problem = await this.run((stream) => stream.start(body), { question: edited, onAccepted });
    if (!problem) return;
    edited?.remove();
    putBack();
    if (text) startEdit(question, (changed) => this.replace(question, changed), text);
    this.explain(problem, text ? {} : { retry: () => this.replace(question) });
  }

  /** Show another version of a message, with what follows it. */
  async showVersion(id) {
    if (this.stream) return;
    showAlert("");
    try {
      await sendJson("POST", `sessions/${this.id}/version`, { message_id: id });
    } catch (problem) {
      this.explain(problem);
      return;
    }
    await this.transcript.reload();
    document.querySelector(`[data-message="${CSS.escape(id)}"] [data-version]:enabled`)?.focus();
  }

  /** Answer the question about a call, or those about all calls of an answer. */
  async decide(element, approve) {
    if (this.stream) return;
    const cards = element.matches(".card") ? [element] : [...element.querySelectorAll('.card[data-status="confirm"]')];
    const buttons = element.querySelectorAll("[data-decide]");
    buttons.forEach((button) => (button.disabled = true));
    const decide = (card) => ({ call_id: card.dataset.call, approve, ...(approve ? readForm(card) : {}) });
    const body = { session_id: this.id, decisions: cards.map(decide) };
    const onAccepted = (title) => this.conversations.moveToTop(this.id, title);
    const problem = await this.run((stream) => stream.start(body), { onAccepted });
    if (!problem) return;
    buttons.forEach((button) => (button.disabled = false));
    this.explain(problem, { retry: () => this.decide(element, approve) });
  }

  /** Follow the turn that ran when the page was loaded. */
  async resume() {
    const answer = this.transcript.findRunning();
    if (!answer) return;
    this.messageId = answer.element.dataset.message;
    this.conversations.setAnswering(this.id, true);
    const problem = await this.run((stream) => stream.resume(this.messageId), { answer });
    if (problem) this.explain(problem);
  }

  /** Stop the answer, as soon as the server has sent its id. */
  stop() {
    if (!this.stream || this.isStopping) return;
    this.isStopping = true;
    this.composer.setStopping();
    if (this.messageId) this.cancel();
  }

  async cancel() {
    try {
      await sendJson("POST", `sessions/${this.id}/cancel`, { message_id: this.messageId });
    } catch (problem) {
      this.isStopping = false;
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

  /** Follow one turn to its end. Return the ApiProblem if it did not start. */
  async run(follow, { question = null, answer = this.transcript.addAnswer(), onAccepted = () => {} } = {}) {
    showAlert("");
    this.answer = answer;
    this.question = question;
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
      this.isStopping = false;
      this.conversations.setAnswering(this.id, false);
      this.transcript.setLive(false);
      this.composer.setRunning(false);
    }
  }

  end(outcome) {
    if (outcome === Outcome.GONE) location.reload(); // the events are gone; the messages are in the database
    if (outcome === Outcome.LOST) {
      showConnection("");
      const reload = { label: "Reload", action: () => location.reload() };
      showAlert("The connection was lost for five minutes. The answer may be complete.", reload);
    }
  }

  show(type, data) {
    HANDLERS[type]?.(this, data);
  }

  noteSession({ session_id: id, message_id: messageId, question_id: questionId, title, versions }) {
    this.messageId = messageId;
    this.answer.setId(messageId);
    if (this.question) this.question.dataset.message = questionId;
    if (versions) showVersions(this.question ?? this.answer.element, versions);
    if (!this.id) {
      this.id = document.body.dataset.conversation = id;
      this.composer.moveTo(id);
      this.conversations.openNew(id);
    }
    this.onAccepted(title);
    this.conversations.setAnswering(id, true);
    if (this.isStopping) this.cancel();
  }

  noteContext(data) {
    this.answer.showContext(data);
    if (data.zone) document.body.dataset.zone = data.zone;
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

  /** Say what to do about a request that was refused. `retry` sends it again. */
  explain(problem, { isTextKept = false, retry = null } = {}) {
    const remedy = REMEDIES[problem.code];
    if (problem.retryAfter != null) {
      const text = problem.status === RATE_LIMITED ? "Too many messages." : problem.message;
      this.composer.block(problem.retryAfter, text);
    } else if (remedy) {
      const text = isTextKept ? `${remedy.text} Your text is kept.` : remedy.text;
      showAlert(text, { label: remedy.label, action: () => remedy.action(this) });
    } else {
      const canRetry = retry && (problem.status === 0 || problem.status >= SERVER_ERROR);
      showAlert(problem.message, ...(canRetry ? [{ label: "Try again", action: retry }] : []));
    }
  }
}

/** Return the files that a question shows, by their names. */
const listFiles = (question) => [...question.querySelectorAll(".question-files span")].map((each) => ({ name: each.textContent }));

/** What helps after a refusal, by its code. */
const REMEDIES = {
  turn_running: {
    text: "An answer is still being written in this conversation.",
    label: "Show it",
    action: () => location.reload(),
  },
  has_written: { text: "An answer has changed something since.", label: "Show it", action: () => location.reload() },
  not_found: { text: "This conversation was deleted.", label: "New chat", action: (chat) => chat.startNew() },
  not_signed_in: { text: "You were signed out.", label: "Sign in", action: () => location.reload() },
  csrf_failed: {
    text: "You signed in again since this page was loaded.",
    label: "Reload",
    action: () => location.reload(),
  },
};

const HANDLERS = {
  session: (chat, data) => chat.noteSession(data),
  context: (chat, data) => chat.noteContext(data),
  reasoning: (chat, data) => {
    chat.answer.addReasoning(data);
    announce("The model is thinking");
  },
  text: (chat, data) => {
    chat.answer.addText(data);
    if (data.delta.trim()) announce("Answering"); // blank lines come between two rounds
  },
  tool: (chat, data) => chat.noteTool(data),
  progress: (chat, data) => chat.answer.showProgress(data),
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
