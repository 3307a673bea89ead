// Ctrl+S saves the form of a page and stays on it, instead of saving the page as a file.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector('[name="_continue"]') ?? document.querySelector('[name="_save"]');
  if (!button) return;
  button.setAttribute("aria-keyshortcuts", "Control+S");
  button.title = "Ctrl+S";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    button.click();
  });
});
