// Shows how far a job is, which the server says in [data-progress] of a page: an import, whose page is loaded again once
// it is done, and publishing, whose form waits for the next page.

const POLL_MS = 1000; // what takes less shows nothing
const shown = document.querySelector("[data-progress]");

/** Show what the address says now, again and again until nothing is left to show. */
async function poll(address, onEnd) {
  try {
    const response = await fetch(address);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const current = page.querySelector("[data-progress]");
    if (current === null) {
      onEnd();
      return;
    }
    if (current.textContent !== shown.textContent) shown.textContent = current.textContent;
    shown.parentElement.hidden = !shown.textContent;
  } catch {
    // The server may be restarting: ask again.
  }
  setTimeout(poll, POLL_MS, address, onEnd);
}

const form = shown?.closest("form");
if (form) {
  form.addEventListener("submit", () => setTimeout(poll, POLL_MS, form.dataset.progressUrl, () => {}));
} else if (shown) {
  setTimeout(poll, POLL_MS, location.href, () => location.reload());
}
