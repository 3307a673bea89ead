/* Buttons with data-copy copy the text of the element with that id, and say so. */
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
  const label = button.textContent;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const target = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(target.textContent.trim());
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(target); // without HTTPS browsers refuse; Ctrl+C copies what is selected
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => (button.textContent = label), 2000);
  });
}
