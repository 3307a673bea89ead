/* JSON editing in a textarea: line numbers, marked error lines, and automatic indentation. */
"use strict";

(() => {
  function equip(area) {
    if (area.closest(".json-editor")) return;
    const editor = Object.assign(document.createElement("div"), { className: "json-editor" });
    const gutter = Object.assign(document.createElement("div"), { className: "json-lines" });
    gutter.setAttribute("aria-hidden", "true");
    area.replaceWith(editor);
    editor.append(gutter, area);
    area.wrap = "off";
    let marked = new Set();

    function number() {
      const count = area.value.split("\n").length;
      if (gutter.childElementCount !== count) {
        gutter.replaceChildren(...Array.from({ length: count }, (_, at) => Object.assign(document.createElement("span"), { textContent: at + 1 })));
      }
      [...gutter.children].forEach((line, at) => line.classList.toggle("json-wrong", marked.has(at + 1)));
      gutter.scrollTop = area.scrollTop;
    }

    area.addEventListener("input", number);
    area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
    area.addEventListener("op:told", (event) => {
      marked = new Set(event.detail);
      number();
    });
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
      const before = area.value.slice(0, area.selectionStart);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      const indent = /^[ \t]*/.exec(line)[0];
      event.preventDefault();
      // execCommand keeps the change in the undo history.
      document.execCommand("insertText", false, `\n${indent}${/[[{]\s*$/.test(line) ? "  " : ""}`);
    });
    number();
  }

  for (const area of document.querySelectorAll("textarea.desk-json")) if (!area.closest(".empty-form")) equip(area);
  document.addEventListener("formset:added", (event) => {
    event.target.closest?.(".form-group")?.querySelectorAll("textarea.desk-json").forEach(equip);
  });
})();
