/* Tabs for the parts of an op's form (ARIA pattern: arrow keys move). The preview next to them stays.

   A part opens when something in it is needed: an error, a link to a field, a problem that was clicked. */
"use strict";

(() => {
  const OPEN_PART = `op-part ${location.pathname}`; // stays open while the op is saved; another op begins with its copy
  const list = document.querySelector(".op-parts");
  const parts = [...document.querySelectorAll(".op-part")];
  if (!list || !parts.length) return;

  const tabs = parts.map((part) => {
    const tab = Object.assign(document.createElement("button"), { type: "button", id: `tab-of-${part.id}`, textContent: part.getAttribute("aria-label") });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", part.id);
    tab.addEventListener("click", () => select(part));
    part.setAttribute("role", "tabpanel");
    part.setAttribute("aria-labelledby", tab.id);
    part.removeAttribute("aria-label");
    return tab;
  });

  function select(part) {
    parts.forEach((each, at) => {
      each.hidden = each !== part;
      tabs[at].setAttribute("aria-selected", String(each === part));
      tabs[at].tabIndex = each === part ? 0 : -1;
    });
    sessionStorage.setItem(OPEN_PART, part.id);
  }

  const show = (element) => {
    const part = element?.closest(".op-part");
    if (part?.hidden) select(part);
  };

  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs.at(to % tabs.length);
    tab.focus();
    tab.click();
  });

  const showTarget = () => show(document.getElementById(decodeURIComponent(location.hash.slice(1))));
  window.addEventListener("hashchange", showTarget);
  document.addEventListener("part:show", (event) => show(event.target));

  list.append(...tabs);
  list.hidden = false;
  select(document.getElementById(sessionStorage.getItem(OPEN_PART)) ?? parts[0]);
  show(document.querySelector(".op-part .errorlist"));
  showTarget();

  /* --- the path is the title; it is a field only to rename the op --------------------------------------------------- */

  const rename = document.querySelector("[data-rename]");
  const path = document.querySelector(".field-line.field-op");
  if (rename && path) {
    path.hidden = !path.querySelector(".errorlist");
    rename.addEventListener("click", () => {
      rename.closest("details").open = false;
      select(path.closest(".op-part"));
      path.hidden = false;
      path.querySelector("input").focus();
    });
  }
})();
