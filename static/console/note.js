/* A button with data-note writes this note into the form of its page, if nothing else was written. */
"use strict";

for (const button of document.querySelectorAll("button[data-note]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const note = button.form.elements.namedItem("note");
    note.value = button.dataset.note;
    note.focus();
  });
}
