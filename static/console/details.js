/* Loads what a <details data-src> shows from another page when it is opened for the first time: the element with
   data-part="details" there. */
"use strict";

for (const details of document.querySelectorAll("details[data-src]")) {
  details.addEventListener("toggle", async () => {
    const url = details.dataset.src;
    if (!details.open || !url) return;
    delete details.dataset.src; // once, also while it is loading
    const shown = details.querySelector("summary ~ *");
    try {
      const response = await fetch(url);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const part = page.querySelector('[data-part="details"]');
      for (const link of part.querySelectorAll('a[href^="?"]')) link.href = new URL(link.getAttribute("href"), response.url);
      shown.replaceWith(part);
    } catch {
      details.dataset.src = url; // the link to the page is still there
    }
  });
}
