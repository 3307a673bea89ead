// Shows on the button of a form that it was sent, until the next page comes.

for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    const button = form.querySelector("[data-busy-text]");
    if (!button || (event.submitter && event.submitter !== button)) return;
    button.dataset.text = button.textContent;
    button.textContent = button.dataset.busyText;
    button.classList.add("ui-button--busy");
    button.disabled = true;
  });
}

// A page from the browser's cache can be sent again.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const button of document.querySelectorAll(".ui-button--busy")) {
    button.textContent = button.dataset.text;
    button.classList.remove("ui-button--busy");
    button.disabled = false;
  }
});
