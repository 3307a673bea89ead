// "Go to": Escape closes it immediately, Ctrl+K also opens it from an input, and the focus returns to where it was.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const input = document.getElementById("search-input-command");
  if (!input) return;
  const dialog = input.parentElement.parentElement;
  const isOpen = () => input.offsetParent !== null;
  let focusedBefore = null;

  input.setAttribute("aria-label", "Go to");
  dialog.setAttribute("role", "dialog");
  dialog.setAttribute("aria-modal", "true");
  dialog.setAttribute("aria-label", "Go to");

  input.addEventListener("focus", (event) => {
    if (!dialog.contains(event.relatedTarget)) focusedBefore = event.relatedTarget;
  });

  const onKeydown = (event) => {
    if (event.key === "k" && (event.ctrlKey || event.metaKey) && event.target.closest?.("input, textarea") && !isOpen()) {
      event.preventDefault();
      window.dispatchEvent(new CustomEvent("opencommand"));
    } else if (event.key === "Escape" && isOpen()) {
      // Unfold's handler closes it only if the input has the focus and is empty.
      input.value = "";
      document.getElementById("command-results-note").textContent = "";
      if (event.target === input) {
        setTimeout(() => focusedBefore?.focus());
      } else {
        event.stopPropagation();
        input.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
      }
    }
  };
  window.addEventListener("keydown", onKeydown, { capture: true }); // before unfold's handler
});
