/* Reorder and remove rules, examples and aliases on an op's page, also by keyboard.

   Input names never change: a row removed before it was saved is hidden and marked for deletion, because renumbering the
   others would lose what was typed in them. */
"use strict";

(() => {
  const form = document.querySelector("#content-main > form");
  const status = document.getElementById("rows-status");
  if (!form) return;

  const rowsOf = (list) => [...list.querySelectorAll(":scope > .form-group:not(.empty-form)")].filter((row) => !row.hidden);
  const positionOf = (row) => row.querySelector('input[name$="-position"]');
  const notifyChange = (list) => list.dispatchEvent(new CustomEvent("rows:change", { bubbles: true }));

  function renumber(list) {
    rowsOf(list).forEach((row, index) => {
      const position = positionOf(row);
      if (position) position.value = index;
    });
  }

  function move(row, by) {
    const list = row.parentElement;
    const rows = rowsOf(list);
    const to = rows.indexOf(row) + by;
    if (to < 0 || to >= rows.length) return;
    if (by < 0) rows[to].before(row);
    else rows[to].after(row);
    renumber(list);
    notifyChange(list);
    if (status) status.textContent = `Moved to ${to + 1} of ${rows.length}.`;
  }

  function removeUnsaved(row) {
    const name = row.querySelector("[name]").name.replace(/[^-]+$/, "DELETE");
    row.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: "on" }));
    row.hidden = true;
    notifyChange(row.parentElement);
  }

  function createButton(symbol, label, act) {
    const node = Object.assign(document.createElement("button"), { type: "button", className: "row-button" });
    node.setAttribute("aria-label", label);
    node.title = label;
    node.innerHTML = `<span class="material-symbols-outlined" aria-hidden="true">${symbol}</span>`;
    node.addEventListener("click", (event) => {
      event.preventDefault();
      event.stopPropagation();
      act(node);
    });
    return node;
  }

  function addRowButtons(row) {
    const bin = row.querySelector('label:has(input[name$="-DELETE"]), .delete-template');
    if (!bin || row.querySelector(".row-buttons")) return;
    const bar = Object.assign(document.createElement("span"), { className: "row-buttons" });
    if (positionOf(row)) {
      bar.append(createButton("arrow_upward", "Move up", (node) => (move(row, -1), node.focus())));
      bar.append(createButton("arrow_downward", "Move down", (node) => (move(row, 1), node.focus())));
    }
    const mark = bin.querySelector('input[name$="-DELETE"]');
    bar.append(
      createButton("delete", "Remove", () => {
        if (!mark) return removeUnsaved(row);
        mark.checked = !mark.checked;
        mark.dispatchEvent(new Event("change", { bubbles: true }));
        row.querySelector(".form-delete label")?.focus();
      }),
    );
    if (mark) mark.hidden = true;
    bin.before(bar);
    if (mark) bar.append(mark);
    bin.remove();
    const back = row.querySelector(".form-delete label");
    if (back) {
      back.tabIndex = 0;
      back.setAttribute("role", "button");
      back.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        back.click();
      });
    }
  }

  for (const list of form.querySelectorAll(".formset")) rowsOf(list).forEach(addRowButtons);
  document.addEventListener("formset:added", (event) => {
    const row = event.target.closest?.(".form-group");
    if (!row || !form.contains(row)) return;
    addRowButtons(row);
    renumber(row.parentElement);
    notifyChange(row.parentElement);
    row.querySelector("select, input:not([type=hidden]), textarea")?.focus();
  });
  // unfold fires "end" after a drag; number new rows too.
  form.addEventListener("end", (event) => {
    const list = event.target.closest(".formset");
    if (!list) return;
    renumber(list);
    notifyChange(list);
  });
})();
