/* Shows the effect of a rollout change next to the form while it is edited, before it is saved. */
"use strict";

(() => {
  const WAIT = 300; // milliseconds after the last key
  const panel = document.getElementById("impact");
  const form = document.querySelector("#content-main > form");
  if (!panel || !form) return;

  const part = panel.querySelector('[data-part="impact"]');
  let timer = null;
  let pending = null; // the request in flight

  async function refresh() {
    pending?.abort();
    const request = (pending = new AbortController());
    try {
      const body = new FormData(form);
      const response = await fetch(panel.dataset.url, { method: "POST", body, signal: request.signal, redirect: "manual" });
      const text = await response.text();
      if (request.signal.aborted) return;
      if (response.ok) {
        const html = new DOMParser().parseFromString(text, "text/html").body.innerHTML;
        if (part.dataset.shown !== html) part.innerHTML = part.dataset.shown = html;
      } else {
        delete part.dataset.shown;
        part.textContent = response.status === 413 ? text : "The effect cannot be shown now. Your edits are kept.";
      }
    } catch (error) {
      if (error.name !== "AbortError") part.textContent = "The gateway does not respond. Your edits are kept.";
    }
  }

  const scheduleRefresh = () => {
    pending?.abort(); // its answer is of the form before this edit
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT);
  };

  // A slider for the percentage; the slider and the number field follow each other.
  const percentage = form.elements.namedItem("percentage");
  if (percentage && !percentage.readOnly) {
    if (percentage.value) percentage.value = Number(percentage.value); // 5 instead of 5.00
    const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 100, step: 1, className: "ui-slider" });
    slider.setAttribute("aria-label", "Percentage slider");
    slider.value = percentage.value || 0;
    slider.addEventListener("input", () => (percentage.value = slider.value));
    percentage.addEventListener("input", () => (slider.value = percentage.value || 0));
    percentage.insertAdjacentElement("afterend", slider);
    addRampButtons(percentage, slider);
  }

  // The usual steps of a rollout, and a stop. They fill in the form, so that the effect shows before it is saved.
  function addRampButtons(percentage, slider) {
    const bar = Object.assign(document.createElement("div"), { className: "ui-buttons cohort-ramp" });
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Steps");
    const addButton = (label, act) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "ui-button", textContent: label });
      button.addEventListener("click", act);
      bar.append(button);
      return button;
    };
    const isOn = form.elements.namedItem("is_on");
    for (const step of [1, 5, 25, 50, 100]) {
      addButton(`${step}%`, () => {
        percentage.value = slider.value = step;
        percentage.dispatchEvent(new Event("input", { bubbles: true }));
        if (isOn && !isOn.checked) isOn.click(); // who chooses a share wants the cohort on
      });
    }
    const exists = !location.pathname.endsWith("/add/");
    if (isOn && exists) {
      const stop = addButton("", () => isOn.click());
      const describe = () => (stop.textContent = isOn.checked ? "Stop" : "Start again");
      isOn.addEventListener("change", describe);
      describe();
    }
    slider.insertAdjacentElement("afterend", bar);
  }

  form.addEventListener("input", scheduleRefresh);
  form.addEventListener("change", scheduleRefresh);
  document.addEventListener("formset:added", scheduleRefresh);
  document.addEventListener("formset:removed", scheduleRefresh);
  refresh();
})();
