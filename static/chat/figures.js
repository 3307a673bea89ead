/* What served a turn, what it cost, and the layers of its context: the disclosure below an answer. */

import { createElement, formatCount, formatDollars } from "./dom.js";

const RELEASE_LENGTH = 8; // characters that are shown
const SVG = "http://www.w3.org/2000/svg";

export function showServing(figures, { surface, release, cohort, layers }) {
  const parts = [surface, release?.slice(0, RELEASE_LENGTH), cohort && `cohort ${cohort}`];
  figures.querySelector(".figures-served").textContent = parts.filter(Boolean).join(" · ");
  figures.querySelector("tbody").replaceChildren(...layers.map(buildLayer));
  figures.hidden = false;
}

export function showUsage(figures, { input, output, dollars }) {
  if (input + output > 0) {
    const text = `${formatCount(input + output)} tokens · ${formatDollars(dollars)}`;
    figures.querySelector(".figures-spent").textContent = text;
    figures.hidden = false;
  }
}

function buildLayer({ name, tokens, budget, cut }) {
  const row = document.createElement("tr");
  const head = createElement("th", "", name);
  head.scope = "row";
  const bar = document.createElement("td");
  bar.append(buildBar(budget ? Math.min(100, (100 * tokens) / budget) : 0));
  const size = formatCount(tokens) + (cut ? " (cut)" : "");
  row.append(head, createElement("td", "", size), createElement("td", "", budget ? formatCount(budget) : ""), bar);
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
