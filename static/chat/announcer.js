/* What is said to everybody, and to screen readers: short states, alerts, and the state of the connection. */

import { byId, createElement } from "./dom.js";

const TOAST_MS = 4_000;
let toastTimer;

/** Tell screen readers a short state, such as "Answering". */
export function announce(text) {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
}

/** Show what went wrong above the message field, with buttons {label, action}. An empty text removes it. */
export function showAlert(text, ...buttons) {
  const alert = byId("alert");
  alert.replaceChildren();
  if (!text) return;
  alert.append(createElement("span", "alert-text", text));
  for (const { label, action } of buttons) {
    const button = createElement("button", "button button-small", label);
    button.type = "button";
    button.addEventListener("click", action);
    alert.append(button);
  }
}

/** Change the text of the alert without its buttons, unless it is gone. */
export function updateAlert(text) {
  const element = byId("alert").querySelector(".alert-text");
  if (element) element.textContent = text;
}

export function showConnection(text) {
  byId("connection").hidden = !text;
  byId("connection-text").textContent = text;
}

/** Show a confirmation for some seconds. */
export function showToast(text) {
  clearTimeout(toastTimer);
  byId("toast").textContent = text;
  announce(text);
  toastTimer = setTimeout(() => {
    byId("toast").textContent = "";
  }, TOAST_MS);
}
