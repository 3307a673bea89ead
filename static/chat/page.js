/* The entry: creates the parts of the page and connects its buttons to them. */

import { sendJson } from "./api.js";
import { showForms } from "./card.js";
import { Chat, copyAnswer } from "./chat.js";
import { Composer } from "./composer.js";
import { Conversations, NO_CONVERSATIONS } from "./conversations.js";
import { byId, createElement } from "./dom.js";
import { checkForms } from "./question_form.js";
import { showRows } from "./rows.js";
import { listenForShortcuts } from "./shortcuts.js";
import { closeReason, giveReason, giveThumb } from "./thumbs.js";
import { Transcript } from "./transcript.js";

showForms(document);
const isPanel = document.body.classList.contains("panel");
const transcript = new Transcript();
const composer = new Composer({
  conversationId: document.body.dataset.conversation,
  onSend: (text, files) => chat.send(text, files),
  onStop: () => chat.stop(),
});
const conversations = isPanel ? NO_CONVERSATIONS : new Conversations();
const chat = new Chat({ transcript, composer, conversations });

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { send, action, decide, thumb, version } = button.dataset;
  if (send && composer.canSend()) chat.send(send);
  if (action === "copy") copyAnswer(button.closest(".answer"));
  if (thumb) giveThumb(button);
  if (action === "close-reason") closeReason(button.form);
  if (action === "retry") chat.answerAgain();
  if (action === "edit") chat.edit(button.closest(".question"));
  if (version) chat.showVersion(version);
  if (decide && !submitDecision(button.closest(".card, .answer"), decide === "approve")) return;
  if (send || action === "retry" || decide) moveFocus();
});

document.addEventListener("submit", (event) => {
  if (event.target.matches(".card-form")) {
    event.preventDefault();
    submitDecision(event.target.closest(".card"), true);
  }
  if (!event.target.matches(".thumb-reason")) return;
  event.preventDefault();
  giveReason(event.target);
});

/** Send a decision, and return true; false if a form is not filled in, which then has the focus. */
function submitDecision(element, approve) {
  if (approve && !checkForms(element)) return false;
  chat.decide(element, approve);
  return true;
}

/** Buttons that disappear after use lose the focus. On phones the keyboard stays closed. */
function moveFocus() {
  const target = matchMedia("(pointer: fine)").matches ? byId("message") : byId("scroller");
  target.focus({ preventScroll: true });
}

// `toggle` does not bubble: listen in the capture phase.
transcript.element.addEventListener(
  "toggle",
  (event) => {
    transcript.holdStill();
    if (event.target.open && event.target.matches(".figures")) event.target.scrollIntoView({ block: "nearest" });
    const card = event.target.closest(".card");
    if (card && event.target.open) showRows(card, (title) => composer.canSend() && chat.send(`Tell me more about “${title}”`));
  },
  true,
);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches(".thumb-reason input")) closeReason(event.target.form);
  const isInField = event.target.matches("input"); // Escape ends a rename or a search there
  if (event.key === "Escape" && chat.stream && !isInField && !document.querySelector(":popover-open, dialog[open]")) chat.stop();
});

listenForShortcuts({
  newUrl: conversations.newUrl,
  onEditLast: () => {
    const question = transcript.findLastQuestion();
    if (!question) return false;
    chat.edit(question);
    return true;
  },
});

// A page from the browser's cache has lost its stream.
window.addEventListener("pagehide", () => chat.leave());
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

/** Add what to ask the connected services. The page works without it. */
async function addServiceSuggestions() {
  const list = byId("service-suggestions");
  if (!list) return;
  const { suggestions } = await sendJson("GET", "suggestions").catch(() => ({ suggestions: [] }));
  for (const { title, text } of suggestions) {
    const button = createElement("button", "suggestion");
    button.type = "button";
    button.dataset.send = text;
    button.append(createElement("strong", "", title), createElement("span", "", text));
    const item = createElement("li");
    item.append(button);
    list.append(item);
  }
}

moveFocus();
chat.resume();
addServiceSuggestions();
