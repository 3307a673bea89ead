/* The preview of a copy page: shows next to the form what a model will read of the unsaved edits. */
"use strict";

(() => {
  const WAIT = 300; // milliseconds after the last key
  const panel = document.getElementById("preview");
  const form = document.querySelector("#content-main > form");
  if (!panel || !form) return;

  const part = (name, within = document) => within.querySelector(`[data-part="${name}"]`);
  const argument = part("arguments");
  let timer = null;
  let pending = null; // the request in flight

  const scheduleRefresh = () => {
    pending?.abort(); // its answer is of the form before this edit, and would put the former argument back
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT);
  };

  async function refresh() {
    pending?.abort();
    const request = (pending = new AbortController());
    const body = new FormData(form);
    if (argument) body.append("preview-argument", argument.value);
    panel.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(panel.dataset.url, { method: "POST", body, signal: request.signal, redirect: "manual" });
      const text = await response.text();
      if (request.signal.aborted) return;
      if (response.ok) show(new DOMParser().parseFromString(text, "text/html"));
      else if (response.type === "opaqueredirect") setStatus("You are signed out. Sign in in another tab; your edits here are kept.");
      else setStatus(response.status === 413 ? text : "The preview cannot be shown now. Your edits are kept.");
    } catch (error) {
      if (error.name !== "AbortError") setStatus("The gateway does not respond. Your edits are kept.");
    } finally {
      if (pending === request) panel.removeAttribute("aria-busy");
    }
  }

  function setStatus(text) {
    part("status").textContent = text;
  }

  function show(preview) {
    for (const name of ["draft-state", "status", "problems", "arguments", "short", "full", "arg", "json", "changes"]) {
      const target = part(name);
      const html = part(name, preview)?.innerHTML ?? "";
      // Leave unchanged parts alone: screen readers stay silent, focus and scroll position are kept.
      if (target && target.dataset.shown !== html) {
        target.innerHTML = html;
        target.dataset.shown = html;
      }
    }
    showEditedPart();
    if (argument) document.getElementById("tab-arg").disabled = !argument.options.length;
    showProblems(preview);
  }

  /* --- problems, shown at their inputs --------------------------------------------------------------------------- */

  const inputs = (name) => [...form.elements].filter((each) => each.name === name && each.type !== "hidden");

  function showProblems(preview) {
    const byInput = new Map();
    for (const each of part("problems", preview).children) {
      const name = each.dataset.input;
      if (name) byInput.set(name, [...(byInput.get(name) ?? []), each]);
    }
    const valid = new Set([...(part("valid", preview)?.children ?? [])].map((each) => each.dataset.input));
    const named = new Set([...byInput.keys(), ...valid]);
    for (const note of form.querySelectorAll(".input-note")) if (!named.has(note.dataset.inputName)) removeNote(note);
    for (const name of named) showNote(name, byInput.get(name) ?? [], valid.has(name));
  }

  function removeNote(note) {
    for (const input of inputs(note.dataset.inputName)) {
      input.removeAttribute("aria-invalid");
      const others = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== note.id);
      if (others.length) input.setAttribute("aria-describedby", others.join(" "));
      else input.removeAttribute("aria-describedby");
    }
    note.remove();
  }

  function showNote(name, problems, isValid) {
    const [input] = inputs(name);
    if (!input) return;
    const id = `note-${name}`;
    let note = document.getElementById(id);
    if (!note) {
      note = Object.assign(document.createElement("div"), { id, className: "input-note" });
      note.dataset.inputName = name;
      (input.closest(".json-editor") ?? input).insertAdjacentElement("afterend", note);
      input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
    }
    const answered = getServerErrors(input); // a failed save has already shown these
    const unanswered = problems.filter((each) => !answered.includes(each.querySelector(".problem-message").textContent.trim()));
    const lines = unanswered.map((each) => {
      const line = document.createElement("p");
      line.className = `problem--${each.dataset.severity}`;
      line.textContent = each.querySelector(".problem-message").textContent;
      if (name.endsWith("-args") && !["warning", "hint"].includes(each.dataset.severity)) line.prepend("✗ ");
      return line;
    });
    if (isValid) lines.unshift(Object.assign(document.createElement("p"), { className: "input-note--valid", textContent: "✓ valid" }));
    note.replaceChildren(...lines);
    if (problems.some((each) => !["warning", "hint"].includes(each.dataset.severity))) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    input.dispatchEvent(new CustomEvent("problems:change", { detail: problems.map((each) => Number(each.dataset.line)).filter(Boolean) }));
  }

  function getServerErrors(input) {
    const errors = input.closest(".field-line, .form-row, td, .grow")?.querySelectorAll(".errorlist li") ?? [];
    return [...errors].map((each) => each.textContent.trim());
  }

  // Once the value changes, the errors of the failed save no longer apply: the preview checks it again.
  form.addEventListener("input", (event) => {
    for (const list of event.target.closest(".field-line, .form-row, td, .grow")?.querySelectorAll(".errorlist") ?? []) list.remove();
  });

  panel.addEventListener("click", (event) => {
    const link = event.target.closest(".problem-list a");
    if (!link) return;
    const { input: name, line, column } = link.closest("li").dataset;
    const [input] = inputs(name);
    if (!input) return;
    event.preventDefault();
    for (let up = input.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    input.dispatchEvent(new CustomEvent("part:show", { bubbles: true }));
    input.scrollIntoView({ block: "center" });
    input.focus({ preventScroll: true });
    if (Number(line)) selectLine(input, Number(line), Number(column));
  });

  function selectLine(area, line, column) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    const end = start + (lines[line - 1] ?? "").length;
    area.setSelectionRange(column ? start + column - 1 : start, end);
    const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
    area.scrollTop = Math.max(0, (line - 4) * height);
  }

  /* --- tabs (ARIA pattern: arrow keys move, only the selected tab is in the tab order) ----------------------------- */

  const tabs = [...panel.querySelectorAll('[role="tab"]')];

  function selectTab(tab) {
    for (const each of tabs) {
      const isSelected = each === tab;
      each.setAttribute("aria-selected", String(isSelected));
      each.tabIndex = isSelected ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !isSelected;
    }
    sessionStorage.setItem("op-tab", tab.id);
  }

  const list = panel.querySelector('[role="tablist"]');
  list?.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) selectTab(tab);
  });
  list?.addEventListener("keydown", (event) => {
    const open = tabs.filter((each) => !each.disabled);
    const at = open.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: open.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = open[(to + open.length) % open.length];
    selectTab(tab);
    tab.focus();
  });
  const last = document.getElementById(sessionStorage.getItem("op-tab") ?? "");
  if (tabs.includes(last)) selectTab(last);

  /* --- the preview follows the field that is edited ---------------------------------------------------------------- */

  // Where the short form shows a field, it stays; the others need the full form, or that of the argument.
  const FULL_ONLY = ["description", "notes", "rules", "examples"];
  let edited = ""; // the field that was edited last

  form.addEventListener("input", (event) => {
    if (!tabs.length) return;
    const field = (event.target.name ?? "").split("-")[0];
    const isOther = field !== edited;
    edited = field;
    if (field === "parameters_schema") followArgument(event.target);
    if (!isOther) return; // keep the tab that the user chose while editing a field
    if (field === "parameters_schema") openTab("tab-arg");
    else if (FULL_ONLY.includes(field)) openTab("tab-full");
    else if (field === "summary" || field === "op") openTab("tab-short", ["tab-full"]);
  });

  function openTab(id, alternatives = []) {
    const current = tabs.find((each) => each.getAttribute("aria-selected") === "true");
    const tab = document.getElementById(id);
    if (tab && !tab.disabled && ![id, ...alternatives].includes(current?.id)) selectTab(tab);
  }

  /* Select the argument whose schema the caret is in. */
  function followArgument(area) {
    const path = getPath(area.value.slice(0, area.selectionStart));
    const name = path[0] === "properties" ? path[1] : "";
    if (name && [...argument.options].some((option) => option.value === name)) argument.value = name;
  }

  /* The keys that lead to the end of some JSON, which may be cut off or invalid. */
  function getPath(json) {
    const path = []; // of each open object or array the key that is read, null before it
    for (const [token, text] of json.matchAll(/"((?:[^"\\]|\\.)*)"|[{}[\],]/g)) {
      const last = path.length - 1;
      if (token === "{" || token === "[") path.push(null);
      else if (token === "}" || token === "]") path.pop();
      else if (last >= 0 && token === ",") path[last] = null;
      else if (last >= 0 && path[last] === null) path[last] = text;
    }
    return path;
  }

  function showEditedPart() {
    for (const each of panel.querySelectorAll(".is-edited")) each.classList.remove("is-edited");
    const visible = panel.querySelector('[role="tabpanel"]:not([hidden])');
    const part = visible?.querySelector(`[data-shows="${CSS.escape(edited)}"]`);
    if (!part) return;
    part.classList.add("is-edited");
    const top = part.offsetTop - visible.offsetTop;
    const isSeen = top >= visible.scrollTop && top + part.offsetHeight <= visible.scrollTop + visible.clientHeight;
    if (!isSeen) visible.scrollTop = Math.max(0, top - 48); // not scrollIntoView, which also moves the page
  }

  /* ---------------------------------------------------------------------------------------------------------------- */

  for (const kind of ["input", "change", "rows:change"]) form.addEventListener(kind, scheduleRefresh);
  argument?.addEventListener("change", refresh);
  refresh();
})();
