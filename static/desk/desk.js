// What unfold's pages lack for a keyboard and for a screen reader: its symbols are read as words ("dock_to_right"), and
// some of what is clicked is no button.
"use strict";

const CLICKED = "[x-on\\:click]:not(a[href], button, input, select, textarea, label)";
const NAMES = {
  dock_to_right: "Show or hide the sidebar",
  close: "Close the sidebar",
  add: "Add",
  arrow_back: "Back",
};

function nameOf(element, symbol) {
  const said = element.textContent.replace(symbol.textContent, "").trim();
  return said ? "" : element.title || NAMES[symbol.textContent.trim()] || symbol.textContent.trim().replaceAll("_", " ");
}

// Boxes that are drawn in place of a control have neither its name nor, once another row is chosen, the right one.
function nameBox(box) {
  const control = box.closest(".select2").previousElementSibling;
  const label = control?.getAttribute("aria-label") ?? control?.labels?.[0]?.textContent.trim();
  box.setAttribute("aria-label", [label, box.title || box.textContent.trim()].filter(Boolean).join(": "));
}

function nameBoxes() {
  for (const box of document.querySelectorAll(".select2-selection__rendered:not([aria-label])")) {
    nameBox(box);
    new MutationObserver(() => nameBox(box)).observe(box, { childList: true });
  }
}

function mend() {
  for (const symbol of document.querySelectorAll(".material-symbols-outlined:not([aria-hidden])")) {
    const clicked = symbol.closest(`a, button, ${CLICKED}`);
    const name = clicked && !clicked.hasAttribute("aria-label") ? nameOf(clicked, symbol) : "";
    if (name) clicked.setAttribute("aria-label", name);
    if (clicked !== symbol) symbol.setAttribute("aria-hidden", "true");
  }
  for (const element of document.querySelectorAll(CLICKED)) {
    if (element.hasAttribute("role")) continue;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      element.click();
    });
  }
  nameBoxes();
  document.getElementById("changelist-filter-close")?.setAttribute("aria-label", "Close the filters");
  for (const hint of document.querySelectorAll(".help-tooltip[aria-label]")) hint.setAttribute("role", "img");
  for (const scrolled of document.querySelectorAll(".simplebar-content-wrapper[role=region]")) {
    scrolled.setAttribute("role", "group");
  }
}

// Other scripts go on making elements, after this and as somebody works.
document.addEventListener("DOMContentLoaded", () => {
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
});
