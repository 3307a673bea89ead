/* What a change of the rollout would do: asked while the form is edited, and shown beside it before it is saved. */
"use strict";

(() => {
  const WAIT = 300; // milliseconds after the last key
  const page = document.getElementById("effect");
  const form = document.querySelector("#content-main > form");
  if (!page || !form) return;

  const part = page.querySelector('[data-part="effect"]');
  let timer = null;
  let asked = null; // the request that is under way

  async function ask() {
    asked?.abort();
    const mine = (asked = new AbortController());
    try {
      const sent = new FormData(form);
      const answer = await fetch(page.dataset.url, { method: "POST", body: sent, signal: mine.signal, redirect: "manual" });
      const text = await answer.text();
      if (mine.signal.aborted) return;
      if (answer.ok) {
        const found = new DOMParser().parseFromString(text, "text/html").body.innerHTML;
        if (part.dataset.shown !== found) part.innerHTML = part.dataset.shown = found;
      } else {
        delete part.dataset.shown;
        part.textContent = answer.status === 413 ? text : "What it does cannot be shown now. What is typed is not lost.";
      }
    } catch (error) {
      if (error.name !== "AbortError") part.textContent = "The gateway does not answer. What is typed is not lost.";
    }
  }

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT);
  };

  // A percentage can be set by hand, too: the slider follows the number, and the number the slider.
  const percentage = form.elements.namedItem("percentage");
  if (percentage && !percentage.readOnly) {
    const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 100, step: 1, className: "desk-slider" });
    slider.setAttribute("aria-label", "Percentage, by hand");
    slider.value = percentage.value || 0;
    slider.addEventListener("input", () => (percentage.value = slider.value));
    percentage.addEventListener("input", () => (slider.value = percentage.value || 0));
    percentage.insertAdjacentElement("afterend", slider);
  }

  // Of a new cohort the flag is chosen first: what other flags can say is then out of reach.
  const flag = form.elements.namedItem("flag");
  const variant = form.elements.namedItem("variant");
  if (flag?.selectedOptions && variant?.selectedOptions) {
    const narrow = () => {
      const title = flag.value && flag.selectedOptions[0].textContent.trim();
      for (const group of variant.querySelectorAll("optgroup")) {
        group.disabled = group.hidden = Boolean(title) && group.label !== title;
        if (group.hidden && group.contains(variant.selectedOptions[0])) variant.value = "";
      }
    };
    flag.addEventListener("change", narrow);
    narrow();
  }

  form.addEventListener("input", later);
  form.addEventListener("change", later);
  document.addEventListener("formset:added", later);
  document.addEventListener("formset:removed", later);
  ask();
})();
