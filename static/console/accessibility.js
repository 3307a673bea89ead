// Fixes keyboard and screen reader support of unfold's pages: screen readers read its icons as words ("dock_to_right"),
// and some clickable elements are not buttons.
"use strict";

const CLICKABLE = "[x-on\\:click]:not(a[href], button, input, select, textarea, label)";
const ICON_LABELS = {
  dock_to_right: "Show or hide the sidebar",
  close: "Close the sidebar",
  add: "Add",
  arrow_back: "Back",
};

function getLabel(element, symbol) {
  const text = element.textContent.replace(symbol.textContent, "").trim();
  return text ? "" : element.title || ICON_LABELS[symbol.textContent.trim()] || symbol.textContent.trim().replaceAll("_", " ");
}

// Select2 boxes replace a control without its label, and do not update their own when the choice changes.
function labelSelectBox(box) {
  const control = box.closest(".select2").previousElementSibling;
  const label = control?.getAttribute("aria-label") ?? control?.labels?.[0]?.textContent.trim();
  box.setAttribute("aria-label", [label, box.title || box.textContent.trim()].filter(Boolean).join(": "));
}

function labelSelectBoxes() {
  for (const box of document.querySelectorAll(".select2-selection__rendered:not([aria-label])")) {
    labelSelectBox(box);
    new MutationObserver(() => labelSelectBox(box)).observe(box, { childList: true });
  }
}

function fixAccessibility() {
  for (const symbol of document.querySelectorAll(".material-symbols-outlined:not([aria-hidden])")) {
    const clicked = symbol.closest(`a, button, ${CLICKABLE}`);
    const name = clicked && !clicked.hasAttribute("aria-label") ? getLabel(clicked, symbol) : "";
    if (name) clicked.setAttribute("aria-label", name);
    if (clicked !== symbol) symbol.setAttribute("aria-hidden", "true");
  }
  for (const element of document.querySelectorAll(CLICKABLE)) {
    if (element.hasAttribute("role")) continue;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      element.click();
    });
  }
  labelSelectBoxes();
  document.getElementById("changelist-filter-close")?.setAttribute("aria-label", "Close the filters");
  for (const hint of document.querySelectorAll(".help-tooltip[aria-label]")) hint.setAttribute("role", "img");
  for (const scrolled of document.querySelectorAll(".simplebar-content-wrapper[role=region]")) {
    scrolled.setAttribute("role", "group");
  }
}

// On a phone, each cell of a list has its label. Labels begin as the headings do.
function labelCells() {
  for (const cell of document.querySelectorAll("#result_list td[data-label]")) {
    const label = cell.dataset.label;
    cell.dataset.label = label.charAt(0).toUpperCase() + label.slice(1);
  }
}

// Unfold writes the name of a chosen file into a text input beside it. Plain file inputs have none, and show the name.
document.addEventListener("readystatechange", () => {
  for (const input of document.querySelectorAll("input[type=file]")) {
    input.hasChangeListener = input.parentNode.parentNode.parentNode.querySelector("input[type=text]") === null;
  }
});

// Other scripts add elements later, on load and as the user works.
document.addEventListener("DOMContentLoaded", () => {
  labelCells();
  fixAccessibility();
  new MutationObserver(fixAccessibility).observe(document.body, { childList: true, subtree: true });
});

// Menus close on Escape, and when something outside of them is clicked.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".ui-menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" ? event.target.closest(".ui-menu[open]") : null;
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
