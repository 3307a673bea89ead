/* Words for operations on rows, as in chat/turns/wording.py. The past forms come from there. */

import { readData } from "./dom.js";

const { past } = readData("vocabulary");

const space = (name) => name.replaceAll("_", " ");
const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function describeRow({ entity, entity_name: name }) {
  return name ? `${space(entity || "row")} “${name}”` : space(entity || "row");
}

export function describeWrite(operation) {
  const row = describeRow(operation);
  const action = operation.action ?? "";
  if (operation.status !== "success") return `Failed to ${space(action)} ${row}`;
  return action in past ? `${past[action]} ${row}` : `Ran ${space(action)} on ${row}`;
}

/** Whether an answer says itself that a write was done. */
export function isTold({ action = "", entity_name: name = "", status }, text) {
  const says = (words) => text.toLowerCase().includes(words.toLowerCase());
  return status === "success" && action in past && Boolean(name) && says(past[action]) && says(name);
}

/** Leave out failures of writes that succeeded later in the turn: they were repaired. */
export function dropRepaired(operations) {
  const isSame = (a, b) => ["entity", "action", "entity_id"].every((name) => a[name] === b[name]);
  return operations.filter(
    (each, index) =>
      each.status === "success" ||
      !operations.slice(index + 1).some((later) => later.status === "success" && isSame(each, later)),
  );
}

/** Return what to ask about the calls that wait, and the labels of both buttons. One decision is for all of them. */
export function describeQuestion(confirmations) {
  const operations = confirmations.map(({ operation = {} }) => operation);
  const text = confirmations.map(describeEffect).join(" ");
  if (operations.length === 1) return { text, ...nameDecision(operations[0]) };
  const actions = new Set(operations.map(({ action }) => action || "run"));
  const action = actions.size === 1 ? capitalize(space([...actions][0])) : "Do";
  const isPair = operations.length === 2;
  return {
    text,
    approve: `${action} ${isPair ? "both" : `all ${operations.length}`}`,
    decline: isPair ? "Do neither" : "Do none of them",
  };
}

/** Return what the service of a call asks, and the labels of both buttons. */
export function describeInput({ op, error: { details } }) {
  const approve = details.url ? "I have done this" : "Send";
  return { text: `The service of ${op} asks: ${details.message ?? ""}`, approve, decline: "Don’t answer" };
}

function describeEffect({ operation = {}, args_text: args = "" }) {
  return `${capitalize(space(operation.action || "run"))} the ${describeRow(operation)}?${args && ` ${capitalize(args)}`}`;
}

function nameDecision(operation) {
  const action = operation.action || "run";
  const target = operation.entity_name ? `“${operation.entity_name}”` : space(operation.entity || "it");
  return {
    approve: `${capitalize(space(action))} ${target}`,
    decline: action === "delete" ? "Keep it" : `Don’t ${space(action)}`,
  };
}
