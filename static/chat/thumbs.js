/* What the user thinks of an answer: a thumb at once, and a reason if they give one. */

import { showAlert, showToast } from "./announcer.js";
import { sendJson } from "./api.js";

const QUESTIONS = { up: "What was good? (optional)", down: "What was wrong? (optional)" };

/** Store a thumb, and ask for a reason. */
export async function giveThumb(button) {
  const answer = button.closest(".answer");
  const { thumb } = button.dataset;
  const before = readThumb(answer);
  showThumb(answer, thumb);
  if (!(await sendThumb(answer, { thumb }))) {
    showThumb(answer, before);
    return;
  }
  const form = answer.querySelector(".thumb-reason");
  const field = form.querySelector("input");
  field.value = "";
  field.placeholder = QUESTIONS[thumb];
  form.hidden = false;
  field.focus({ preventScroll: true });
  form.scrollIntoView({ block: "nearest" });
}

/** Add the reason to the thumb. */
export async function giveReason(form) {
  const answer = form.closest(".answer");
  const reason = form.querySelector("input").value.trim();
  if (reason && !(await sendThumb(answer, { thumb: readThumb(answer), reason }))) return;
  closeReason(form);
  showToast("Thank you");
}

export function closeReason(form) {
  form.hidden = true;
  form.closest(".answer").querySelector('[data-thumb][aria-pressed="true"]').focus();
}

async function sendThumb(answer, body) {
  showAlert("");
  try {
    const { conversation } = document.body.dataset;
    await sendJson("POST", `sessions/${conversation}/messages/${answer.dataset.message}/feedback`, body);
    return true;
  } catch (problem) {
    showAlert(problem.message);
    return false;
  }
}

const readThumb = (answer) => answer.querySelector('[data-thumb][aria-pressed="true"]')?.dataset.thumb;

function showThumb(answer, thumb) {
  for (const button of answer.querySelectorAll("[data-thumb]")) {
    button.setAttribute("aria-pressed", String(button.dataset.thumb === thumb));
  }
}
