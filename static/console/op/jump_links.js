// Links to the sections of a long form, made of its headings.
"use strict";

(() => {
  const nav = document.querySelector(".op-jump");
  const headings = [...document.querySelectorAll("#content-main > form h2")];
  if (!nav || headings.length < 2) return;
  nav.append(
    ...headings.map((heading, number) => {
      heading.id ||= `section-${number}`;
      const link = Object.assign(document.createElement("a"), { href: `#${heading.id}`, textContent: heading.textContent.trim() });
      link.addEventListener("click", () => {
        for (let up = heading.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
      });
      return link;
    }),
  );
  nav.hidden = false;
})();
