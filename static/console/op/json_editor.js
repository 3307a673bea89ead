/* JSON editing in a textarea: line numbers, marked error lines, automatic indentation, and a button that formats. */
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

    // Once a frame: some ways of inserting text fire an event for each line of it.
    let frame = 0;
    area.addEventListener("input", () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        renumber();
      });
    });
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
    if ("json" in area.dataset) addFormatButton(editor, area);
    renumber();
  }

  function addFormatButton(editor, area) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "json-format", textContent: "Format" });
    button.addEventListener("click", () => {
      try {
        JSON.parse(area.value);
      } catch {
        return; // the problem is shown at the field
      }
      area.focus();
      area.select();
      document.execCommand("insertText", false, format(area.value));
      area.setSelectionRange(0, 0);
    });
    editor.append(button);
  }

  /* Indent some valid JSON, and change nothing else: JSON.stringify would round numbers. */
  function format(json) {
    let depth = 0;
    let text = "";
    const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
    const breakLine = () => (text += `\n${"  ".repeat(depth)}`);
    tokens.forEach((token, at) => {
      const isEmpty = /[}\]]/.test(token) && /[{[]/.test(tokens[at - 1]);
      if (token === "}" || token === "]") {
        depth -= 1;
        if (!isEmpty) breakLine();
      }
      text += token === ":" ? ": " : token;
      if (token === "{" || token === "[") {
        depth += 1;
        if (!/[}\]]/.test(tokens[at + 1])) breakLine();
      }
      if (token === ",") breakLine();
    });
    return text;
  }

  for (const area of document.querySelectorAll("textarea.ui-code")) if (!area.closest(".empty-form")) addLineNumbers(area);
  document.addEventListener("formset:added", (event) => {
    event.target.closest?.(".form-group")?.querySelectorAll("textarea.ui-code").forEach(addLineNumbers);
  });
})();
