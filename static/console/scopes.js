/* Buttons with data-scopes tick exactly these scopes of a new key. */
"use strict";

for (const button of document.querySelectorAll("button[data-scopes]")) {
  button.addEventListener("click", () => {
    const chosen = button.dataset.scopes.split(" ");
    for (const box of document.querySelectorAll("input[name=scopes]")) box.checked = chosen.includes(box.value);
  });
}
