/* The preview of a copy page: shows next to the form what a model will read of the unsaved edits. */
"use strict";

(() => {
  const WAIT = 300; // milliseconds after the last key
  const page = document.getElementById("preview");
  const form = document.querySelector("#content-main > form");
  if (!page || !form) return;

  const part = (name, within = document) => within.querySelector(`[data-part="${name}"]`);
  const argument = part("arguments");
  let timer = null;
  let pending = null; // the request in flight

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT);
  };

  async function refresh() {
    pending?.abort();
    const mine = (pending = new AbortController());
    const sent = new FormData(form);
    if (argument) sent.append("preview-argument", argument.value);
    page.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(page.dataset.url, { method: "POST", body: sent, signal: mine.signal, redirect: "manual" });
      const text = await answer.text();
      if (mine.signal.aborted) return;
      if (answer.ok) show(new DOMParser().parseFromString(text, "text/html"));
      else if (answer.type === "opaqueredirect") say("You are logged out. Log in in another tab; your edits here are kept.");
      else say(answer.status === 413 ? text : "The preview cannot be shown now. Your edits are kept.");
    } catch (error) {
      if (error.name !== "AbortError") say("The gateway does not respond. Your edits are kept.");
    } finally {
      if (pending === mine) page.removeAttribute("aria-busy");
    }
  }

  function say(text) {
    part("status").textContent = text;
  }

  function show(found) {
    for (const name of ["standing", "status", "told", "arguments", "short", "full", "arg", "json", "changes"]) {
      const there = part(name);
      const html = part(name, found)?.innerHTML ?? "";
      // Leave unchanged parts alone: screen readers stay silent, focus and scroll position are kept.
      if (there && there.dataset.shown !== html) {
        there.innerHTML = html;
        there.dataset.shown = html;
      }
    }
    if (argument) document.getElementById("tab-arg").disabled = !argument.options.length;
    place(found);
  }

  /* --- problems, shown at their inputs --------------------------------------------------------------------------- */

  const inputs = (name) => [...form.elements].filter((each) => each.name === name && each.type !== "hidden");

  function place(found) {
    const byInput = new Map();
    for (const each of part("told", found).children) {
      const name = each.dataset.input;
      if (name) byInput.set(name, [...(byInput.get(name) ?? []), each]);
    }
    const valid = new Set([...(part("valid", found)?.children ?? [])].map((each) => each.dataset.input));
    const named = new Set([...byInput.keys(), ...valid]);
    for (const note of form.querySelectorAll(".op-note")) if (!named.has(note.dataset.of)) clear(note);
    for (const name of named) note(name, byInput.get(name) ?? [], valid.has(name));
  }

  function clear(note) {
    for (const input of inputs(note.dataset.of)) {
      input.removeAttribute("aria-invalid");
      const others = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== note.id);
      if (others.length) input.setAttribute("aria-describedby", others.join(" "));
      else input.removeAttribute("aria-describedby");
    }
    note.remove();
  }

  function note(name, problems, isValid) {
    const [input] = inputs(name);
    if (!input) return;
    const id = `note-${name}`;
    let there = document.getElementById(id);
    if (!there) {
      there = Object.assign(document.createElement("div"), { id, className: "op-note" });
      there.dataset.of = name;
      (input.closest(".json-editor") ?? input).insertAdjacentElement("afterend", there);
      input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
    }
    const lines = problems.map((each) => {
      const line = document.createElement("p");
      line.className = `told-${each.dataset.weight}`;
      line.textContent = each.querySelector(".told-text").textContent;
      if (name.endsWith("-args") && each.dataset.weight !== "nothing") line.prepend("✗ ");
      return line;
    });
    if (isValid) lines.unshift(Object.assign(document.createElement("p"), { className: "told-valid", textContent: "✓ valid" }));
    there.replaceChildren(...lines);
    if (problems.some((each) => each.dataset.weight !== "nothing")) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    input.dispatchEvent(new CustomEvent("op:told", { detail: problems.map((each) => Number(each.dataset.line)).filter(Boolean) }));
  }

  page.addEventListener("click", (event) => {
    const link = event.target.closest(".op-told a");
    if (!link) return;
    const { input: name, line, column } = link.closest("li").dataset;
    const [input] = inputs(name);
    if (!input) return;
    event.preventDefault();
    for (let up = input.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    input.scrollIntoView({ block: "center" });
    input.focus({ preventScroll: true });
    if (Number(line)) goTo(input, Number(line), Number(column));
  });

  function goTo(area, line, column) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    const end = start + (lines[line - 1] ?? "").length;
    area.setSelectionRange(column ? start + column - 1 : start, end);
    const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
    area.scrollTop = Math.max(0, (line - 4) * height);
  }

  /* --- tabs (ARIA pattern: arrow keys move, only the selected tab is in the tab order) ----------------------------- */

  const tabs = [...page.querySelectorAll('[role="tab"]')];

  function choose(tab) {
    for (const each of tabs) {
      const isIt = each === tab;
      each.setAttribute("aria-selected", String(isIt));
      each.tabIndex = isIt ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !isIt;
    }
    sessionStorage.setItem("op-tab", tab.id);
  }

  const list = page.querySelector('[role="tablist"]');
  list?.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list?.addEventListener("keydown", (event) => {
    const open = tabs.filter((each) => !each.disabled);
    const at = open.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: open.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = open[(to + open.length) % open.length];
    choose(tab);
    tab.focus();
  });
  const last = document.getElementById(sessionStorage.getItem("op-tab") ?? "");
  if (tabs.includes(last)) choose(last);

  /* ---------------------------------------------------------------------------------------------------------------- */

  for (const kind of ["input", "change", "rows:changed"]) form.addEventListener(kind, later);
  argument?.addEventListener("change", refresh);
  refresh();
})();
