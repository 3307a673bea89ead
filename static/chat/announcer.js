/* Messages for everybody and for screen readers: short states, alerts, and the state of the connection. */

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

/** Show an alert that says in how many seconds something can be sent again. Screen readers hear the number once. */
export function showCountdown(text, seconds, onEnd) {
  const end = Date.now() + seconds * 1000;
  const describeWait = (left) => `You can send again in ${left} s.`;
  const clock = createElement("span");
  clock.setAttribute("aria-hidden", "true");
  showAlert(text);
  byId("alert").append(createElement("span", "visually-hidden", describeWait(seconds)), clock);
  const tick = () => {
    const left = Math.ceil((end - Date.now()) / 1000);
    clock.textContent = describeWait(left);
    if (left > 0) return;
    clearInterval(timer);
    if (clock.isConnected) showAlert(""); // otherwise another alert took its place
    onEnd();
  };
  const timer = setInterval(tick, 250);
  tick();
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
