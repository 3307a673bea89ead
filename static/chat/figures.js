/* What served a turn, what it cost, and the layers of its context: the disclosure below an answer. */

import { createElement, formatCount, formatDollars } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

export function showServing(figures, turn, { surface, release, cohort, layers }) {
  const parts = [surface];
  if (release) parts.push(linkToConsole("release", `registry/release/${release}/change/`, release));
  for (const name of cohort?.split(" ").filter(Boolean) ?? []) {
    parts.push(linkToConsole(`cohort ${name}`, `analytics/cohort/?q=${encodeURIComponent(name)}`));
  }
  if (document.body.dataset.console) parts.push(linkToConsole("turn in the console", `analytics/turn/?turn__exact=${turn}`));
  const separated = parts.flatMap((part, at) => (at ? [" · ", part] : [part]));
  figures.querySelector(".figures-served").replaceChildren(...separated);
  figures.querySelector("tbody").replaceChildren(...layers.map(buildLayer));
  figures.dataset.context = layers.reduce((sum, { tokens }) => sum + tokens, 0);
  showSums(figures, {});
  figures.hidden = false;
}

export function showUsage(figures, usage) {
  const { input, output, dollars } = usage;
  if (input + output === 0) return;
  const tokens = `${formatCount(input + output)} tokens`;
  figures.querySelector(".figures-spent").textContent = dollars ? `${tokens} · ${formatDollars(dollars)}` : tokens;
  showSums(figures, usage);
  figures.hidden = false;
}

/** Show what leads from the layers of one request to all tokens of a turn, as chat/pages/shown_messages.py does. */
function showSums(figures, { input = 0, output = 0, answers = 0 }) {
  const context = Number(figures.dataset.context ?? 0);
  const sums = [["Together, per request", context]];
  if (answers) {
    const requests = `${formatCount(answers)} request${answers === 1 ? "" : "s"}`;
    if (input >= answers * context) {
      sums.push([`${requests} with it`, answers * context], ["Messages and results of calls", input - answers * context]);
    } else {
      sums.push([`Read in ${requests}`, input]);
    }
    sums.push(["Answers and calls", output], ["Sum", input + output]);
  }
  figures.querySelector("tfoot").replaceChildren(...sums.map(([name, tokens]) => buildLine(name, formatCount(tokens))));
}

/** Return a link into the console for staff, whose page has its address, and a text for others. */
function linkToConsole(text, path, title = "") {
  const root = document.body.dataset.console;
  const link = createElement(root ? "a" : "span", "", text);
  if (root) link.href = root + path;
  if (title) link.title = title;
  return link;
}

function buildLayer({ name, tokens, budget, cut }) {
  const bar = buildBar(budget ? Math.min(100, (100 * tokens) / budget) : 0);
  return buildLine(name, formatCount(tokens) + (cut ? " (cut)" : ""), budget ? formatCount(budget) : "", bar);
}

function buildLine(name, ...contents) {
  const row = document.createElement("tr");
  const head = createElement("th", "", name);
  head.scope = "row";
  row.append(head);
  for (const content of [...contents, "", ""].slice(0, 3)) row.insertCell().append(content);
  return row;
}

/** An SVG, because the policy of the page forbids style attributes. */
function buildBar(share) {
  const bar = document.createElementNS(SVG, "svg");
  bar.setAttribute("class", "bar");
  bar.setAttribute("aria-hidden", "true");
  for (const [name, width] of [["bar-full", 100], ["bar-used", share]]) {
    const rectangle = document.createElementNS(SVG, "rect");
    rectangle.setAttribute("class", name);
    rectangle.setAttribute("width", `${width.toFixed(1)}%`);
    rectangle.setAttribute("height", "100%");
    bar.append(rectangle);
  }
  return bar;
}
