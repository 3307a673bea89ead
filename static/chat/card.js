/* A card shows one tool call: a line while it is closed; its arguments, answer and rows when it is open. */

import { cloneTemplate } from "./dom.js";
import { fillForm } from "./question_form.js";
import { describeInput, describeQuestion } from "./wording.js";

const LABELS = { start: "Running", success: "Done", error: "Failed", confirm: "Needs your approval", undone: "Not done" };
const NEEDS_USER = "Needs you";
const NEEDS_ANSWER = "Needs your answer";
const LEFT_UNDONE = "You continued without this. Nothing was done.";

/** Return the card of a call, wherever it is in the transcript. */
export function findCard(id) {
  return document.querySelector(`.card[data-call="${CSS.escape(id)}"]`);
}

/** Return a new card for an event `tool`. The arguments are written once: they never change. */
export function createCard(data) {
  const card = cloneTemplate("card-template");
  card.dataset.call = data.id;
  card.classList.add("is-new");
  card.querySelector(".card-args").textContent = toJson(data.args);
  if (data.name === "tool_help") card.querySelector(".card-envelope-title").textContent = "Help that was read";
  updateCard(card, data);
  return card;
}

/** Show the state of a call. */
export function updateCard(card, data) {
  const setText = (name, text) => {
    card.querySelector(`.card-${name}`).textContent = text;
  };
  const isDeclined = data.envelope?.error?.details?.reason === "declined";
  const status = isDeclined ? "undone" : data.status;
  card.dataset.status = status;
  card.toggleAttribute("data-for-user", Boolean(data.requires_user_action));
  setText("op", data.op || data.name);
  const isForUser = data.requires_user_action && data.status === "error";
  setText("label", isForUser ? NEEDS_USER : LABELS[status]);
  card.toggleAttribute("data-empty", Boolean(data.is_empty));
  setText("headline", data.headline);
  setText("time", formatDuration(data.duration_ms));
  if (data.envelope) {
    setText("envelope", toJson(data.envelope));
    card.querySelector(".card-envelope").hidden = card.querySelector(".card-envelope-title").hidden = false;
    card.querySelector(".card-rows").replaceChildren();
    delete card.dataset.hasRows;
  }
  showLink(card, findUserAction(data)?.url);
  showQuestion(card, data.status === "confirm" ? data.envelope : null);
}

/** Show the forms of calls that wait, in what the server has written. */
export function showForms(element) {
  for (const card of element.querySelectorAll('.card[data-status="confirm"]')) showQuestion(card, readEnvelope(card));
}

/** Say that the user did not answer, but went on. */
export function leaveUndone(card) {
  card.dataset.status = "undone";
  card.querySelector(".card-label").textContent = LABELS.undone;
  card.querySelector(".card-headline").textContent = LEFT_UNDONE;
  showQuestion(card, null);
}

/** Return the parsed answer of a card, null if there is none. */
export function readEnvelope(card) {
  try {
    return JSON.parse(card.querySelector(".card-envelope").textContent);
  } catch {
    return null;
  }
}

/** Return the envelopes of an answer: the results of a batch, or the answer itself. */
export function listEnvelopes(answer) {
  return Array.isArray(answer.results) && "batch_id" in answer ? answer.results : [answer];
}

/** Return what only the user can do about a failure, and the link if there is one. */
function findUserAction({ envelope, requires_user_action: isForUser, status }) {
  if (!envelope || !isForUser || status === "confirm") return null;
  const errors = listEnvelopes(envelope).map((each) => each.error).filter(Boolean);
  const error = errors.find((each) => each.details?.requires_user_action) ?? errors[0] ?? {};
  const url = error.details?.requires_user_action?.url;
  return { text: error.details?.how_to_connect ?? error.message, url: /^https?:/.test(url) ? url : "" };
}

function showLink(card, url) {
  const action = card.querySelector(".card-action");
  action.hidden = !url;
  if (url) action.querySelector("a").href = url;
}

function showQuestion(card, envelope) {
  const question = card.querySelector(".card-question");
  question.hidden = !envelope;
  const form = question.querySelector(".card-form");
  form.hidden = true;
  if (!envelope) return;
  const waiting = findWaiting(envelope, "confirmation_required");
  const [asked] = waiting.length ? [] : findWaiting(envelope, "input_required");
  const { text, approve, decline } = asked
    ? describeInput(asked)
    : describeQuestion(waiting.map((each) => each.error.details.confirmation ?? {}));
  question.querySelector("p").textContent = text;
  if (asked) {
    card.querySelector(".card-label").textContent = NEEDS_ANSWER;
    fillForm(form, asked.error.details);
  }
  const [yes, no] = question.querySelectorAll("[data-decide]");
  yes.classList.toggle("button-danger", !asked);
  yes.textContent = approve;
  no.textContent = decline;
  yes.disabled = no.disabled = false;
}

function findWaiting(envelope, reason) {
  return listEnvelopes(envelope).filter((each) => each.error?.details?.reason === reason);
}

function formatDuration(milliseconds) {
  if (milliseconds == null) return "";
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

const toJson = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
