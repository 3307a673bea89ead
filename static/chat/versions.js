/* Versions of messages: edit a question, ask before something is done again, and show which version is which. */

import { byId, createElement } from "./dom.js";

/** Put a field in place of a question. `onSend(text)` gets what was changed; Escape and *Cancel* leave it as it was. */
export function startEdit(question, onSend, text = question.querySelector(".question-text").textContent) {
  if (question.querySelector(".question-edit")) return;
  const form = createElement("form", "question-edit");
  const field = createElement("textarea");
  const buttons = createElement("div", "question-edit-buttons");
  const [cancel, send] = [createElement("button", "button button-small", "Cancel"), createElement("button", "button button-small button-primary", "Send")];
  field.setAttribute("aria-label", "Edit the message");
  field.maxLength = 20_000;
  field.value = text;
  field.rows = Math.min(10, text.split("\n").length + 1);
  cancel.type = "button";
  buttons.append(cancel, send);
  form.append(field, buttons);
  const close = () => {
    form.remove();
    question.classList.remove("is-edited");
    question.querySelector('[data-action="edit"]').focus();
  };
  cancel.addEventListener("click", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const changed = field.value.trim();
    close();
    if (changed) onSend(changed);
  });
  question.classList.add("is-edited");
  question.append(form);
  field.focus();
}

/** Ask whether to answer again, although writes were done that may be done a second time. */
export function confirmRepeat(writes) {
  const dialog = byId("repeat-dialog");
  byId("repeat-writes").replaceChildren(...writes.map((text) => createElement("li", "", text)));
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "repeat"), { once: true });
  });
}

/** Show which of its versions a message is, as templates/chat/versions.html does. */
export function showVersions(message, ids) {
  const at = ids.indexOf(message.dataset.message);
  const versions = message.querySelector(".versions");
  versions.hidden = false;
  versions.querySelector(".versions-count").textContent = `${at + 1}/${ids.length}`;
  versions.querySelectorAll("[data-version]").forEach((button, index) => {
    button.dataset.version = ids[at + (index ? 1 : -1)] ?? "";
    button.disabled = !button.dataset.version;
  });
}
