// The cohorts of a flag: dragged, or moved with buttons. The order of the hidden inputs is what the form sends.
"use strict";

(() => {
  const list = document.querySelector(".cohort-order--movable");
  if (!list || list.children.length < 2) return;
  const status = document.querySelector('[data-part="moved"]');
  let dragged = null;

  const announce = (item) => {
    const name = item.querySelector("a").textContent;
    status.textContent = `${name} is now ${[...list.children].indexOf(item) + 1} of ${list.children.length}.`;
    list.dispatchEvent(new Event("change", { bubbles: true })); // the effect of saving is calculated again
  };

  function addButton(item, symbol, label, move) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "row-button", title: label });
    button.setAttribute("aria-label", `${label}: ${item.querySelector("a").textContent}`);
    button.innerHTML = `<span class="material-symbols-outlined" aria-hidden="true">${symbol}</span>`;
    button.addEventListener("click", () => {
      if (!move()) return;
      button.focus();
      announce(item);
    });
    item.append(button);
  }

  for (const item of list.children) {
    item.draggable = true;
    addButton(item, "arrow_upward", "Move up", () => item.previousElementSibling && (item.previousElementSibling.before(item), true));
    addButton(item, "arrow_downward", "Move down", () => item.nextElementSibling && (item.nextElementSibling.after(item), true));
    item.addEventListener("dragstart", (event) => {
      dragged = item;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", ""); // Firefox drags nothing without data
    });
    item.addEventListener("dragover", (event) => {
      if (!dragged || dragged === item) return;
      event.preventDefault();
      const { top, height } = item.getBoundingClientRect();
      if (event.clientY < top + height / 2) item.before(dragged);
      else item.after(dragged);
    });
    item.addEventListener("dragend", () => {
      dragged = null;
      announce(item);
    });
  }
})();
