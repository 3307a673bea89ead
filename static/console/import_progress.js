// Shows how far an import is, and reloads its page once it is done.

const POLL_MS = 2000;
const shown = document.querySelector("[data-import-state]");

async function poll() {
  try {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const current = page.querySelector("[data-import-state]");
    if (current === null) {
      location.reload();
      return;
    }
    if (current.textContent !== shown.textContent) shown.textContent = current.textContent;
  } catch {
    // The server may be restarting: ask again.
  }
  setTimeout(poll, POLL_MS);
}

if (shown) setTimeout(poll, POLL_MS);
