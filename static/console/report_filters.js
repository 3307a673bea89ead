/* Filters of a report apply when they are changed. */
"use strict";

(() => {
  const FOCUSED = "report-filter"; // in sessionStorage: the name of the control that was changed
  const form = document.querySelector(".report-filters");
  const { days, from, to } = form.elements;

  const sides = [form.elements.first, form.elements.second].filter(Boolean);
  const sidesBefore = sides.map(({ value }) => value);

  form.addEventListener("change", ({ target }) => {
    const side = sides.indexOf(target);
    if (side >= 0 && sides[0].value === sides[1].value) sides[1 - side].value = sidesBefore[side]; // they change places
    if (target === days && days.value === "chosen") {
      from.focus();
      return;
    }
    // A date is incomplete while its year is typed, and one of two days may still have to follow.
    if (!form.checkValidity() || (days.value === "chosen" && from.value > to.value)) return;
    sessionStorage.setItem(FOCUSED, target.name);
    form.requestSubmit();
  });

  const more = form.querySelector(".report-more"); // on a phone, the filters begin closed
  more.addEventListener("click", () => {
    more.setAttribute("aria-expanded", String(more.getAttribute("aria-expanded") !== "true"));
  });

  // The address has only what counts.
  form.addEventListener("formdata", ({ formData }) => {
    for (const name of days.value === "chosen" ? ["days"] : ["from", "to"]) formData.delete(name);
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });

  const focused = form.elements[sessionStorage.getItem(FOCUSED)];
  if (focused) more.setAttribute("aria-expanded", "true");
  focused?.focus();
  sessionStorage.removeItem(FOCUSED);
})();
