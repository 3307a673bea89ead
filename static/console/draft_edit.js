/* The form of a draft edit: shows the fields and the label of the chosen kind, and asks for the effect once it changed. */
"use strict";

(() => {
  const kind = document.querySelector("select[data-labels]");
  const form = kind.form;
  const labels = JSON.parse(kind.dataset.labels);
  const argument = form.elements.argument.closest(".group");
  const label = form.querySelector('label[for="id_text"]').firstChild;
  const effect = form.querySelector("[data-effect]");

  function showFields() {
    argument.hidden = kind.value !== kind.dataset.withArgument;
    label.textContent = labels[kind.value];
  }

  kind.addEventListener("change", showFields);
  showFields();
  if (document.getElementById("effect")) {
    effect.hidden = true;
    form.addEventListener("input", () => (effect.hidden = false));
  }
})();
