/* JSON editing in a textarea: line numbers, marked error lines, and automatic indentation. */
"use strict";

(() => {
  function addLineNumbers(area) {
    if (area.closest(".json-editor")) return;
    const editor = Object.assign(document.createElement("div"), { className: "json-editor" });
    const gutter = Object.assign(document.createElement("div"), { className: "json-line-numbers" });
    gutter.setAttribute("aria-hidden", "true");
    area.replaceWith(editor);
    editor.append(gutter, area);
    area.wrap = "off";
    let errorLines = new Set();

    function renumber() {
      const count = area.value.split("\n").length;
      if (gutter.childElementCount !== count) {
        gutter.replaceChildren(...Array.from({ length: count }, (_, at) => Object.assign(document.createElement("span"), { textContent: at + 1 })));
      }
      [...gutter.children].forEach((line, at) => line.classList.toggle("json-line-number--error", errorLines.has(at + 1)));
      gutter.scrollTop = area.scrollTop;
    }

    area.addEventListener("input", renumber);
    area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
    area.addEventListener("problems:change", (event) => {
      errorLines = new Set(event.detail);
      renumber();
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
    renumber();
  }

  for (const area of document.querySelectorAll("textarea.ui-code")) if (!area.closest(".empty-form")) addLineNumbers(area);
  document.addEventListener("formset:added", (event) => {
    event.target.closest?.(".form-group")?.querySelectorAll("textarea.ui-code").forEach(addLineNumbers);
  });
})();
