/* The rows in the answer of a call, as a table in its open card. */

import { listEnvelopes, readEnvelope } from "./card.js";
import { createElement } from "./dom.js";

const MAX_ROWS = 50;
const DATES = ["due_at", "start_at", "start", "date", "updated_at"];
const DAY = { month: "short", day: "numeric" };
const TIME = { hour: "2-digit", minute: "2-digit" }; // as in the lines of cards: 25 Nov, 10:00

/** Fill in the table when a card is opened for the first time. `onDetails(title)` asks for one row. */
export function showRows(card, onDetails) {
  if (card.dataset.hasRows !== undefined) return;
  card.dataset.hasRows = "";
  const answer = readEnvelope(card);
  if (!answer) return;
  const tables = listEnvelopes(answer)
    .flatMap(findLists)
    .map(([name, rows]) => buildTable(name, rows, onDetails));
  card.querySelector(".card-rows").replaceChildren(...tables);
}

/** Return [name, rows] of each list of titled rows in a result. */
function findLists(envelope) {
  const result = envelope?.result;
  if (!result || typeof result !== "object") return [];
  return Object.entries(result).filter(
    ([, value]) => Array.isArray(value) && value.length > 0 && value.every((row) => row && readTitle(row)),
  );
}

const readTitle = (row) => row.title ?? row.name ?? row.summary;

function buildTable(name, rows, onDetails) {
  const table = createElement("table", "rows");
  table.append(createElement("caption", "", name.replaceAll("_", " ")));
  const body = table.createTBody();
  for (const row of rows.slice(0, MAX_ROWS)) body.append(buildRow(row, onDetails));
  return table;
}

function buildRow(row, onDetails) {
  const line = document.createElement("tr");
  const title = String(readTitle(row));
  const head = createElement("th", "", title);
  head.scope = "row";
  const state = createElement("td", "row-state", String(row.state_key ?? row.status ?? "").replaceAll("_", " "));
  const action = document.createElement("td");
  if (row.id) {
    const button = createElement("button", "text-button", "Details");
    button.type = "button";
    button.setAttribute("aria-label", `Details of ${title}`);
    button.addEventListener("click", () => onDetails(title));
    action.append(button);
  }
  line.append(head, state, createElement("td", "row-date", readDate(row)), action);
  return line;
}

function readDate(row) {
  const value = DATES.map((name) => row[name]).find((each) => typeof each === "string" && each);
  if (!value) return "";
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(value);
  const date = new Date(isDay ? `${value}T00:00` : value);
  if (Number.isNaN(date.getTime())) return value;
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const { zone } = document.body.dataset; // the user's, in which answers and cards give times, too
  return date.toLocaleString("en-GB", { ...DAY, ...year, ...(isDay ? {} : { ...TIME, ...(zone ? { timeZone: zone } : {}) }) });
}
