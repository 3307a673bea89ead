/* The form of a question that a service asks the user, made of its schema; or the link to a page of the service.
   All texts are the service's, so they are only ever shown as text. */

import { createElement } from "./dom.js";

const INPUT_TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
const LIMITS = { minLength: "minLength", maxLength: "maxLength", minimum: "min", maximum: "max" };

/** Fill the form of a card. It stays as it is if it has been filled for the same question. */
export function fillForm(form, { schema, url }) {
  const key = JSON.stringify([schema, url]);
  form.hidden = false;
  if (form.dataset.key === key) return;
  form.dataset.key = key;
  const isPage = /^https?:/.test(url ?? "");
  form.replaceChildren(...(isPage ? [createPageLink(url)] : createFields(schema ?? {})));
}

/** Return whether all forms of a card or an answer are filled in as their services want. The first other one says why not. */
export function checkForms(element) {
  return [...element.querySelectorAll(".card-form:not([hidden])")].every((form) => form.reportValidity());
}

/** Return what a decision says of a card's form: {content}, or nothing without one. */
export function readForm(card) {
  const form = card.querySelector(".card-form");
  const fields = [...form.querySelectorAll(".card-field")];
  if (form.hidden || !form.dataset.key || form.querySelector("a")) return {};
  const entries = fields.map((field) => [field.dataset.name, readField(field)]);
  return { content: Object.fromEntries(entries.filter(([, value]) => value !== undefined)) };
}

function createPageLink(url) {
  const link = createElement("a", "button", `Open ${new URL(url).host}`);
  link.href = url;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  const line = createElement("p", "card-page");
  line.append(link, " ", createElement("span", "card-url", url));
  return line;
}

function createFields({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => createField(name, schema, required.includes(name)));
}

function createField(name, schema, isRequired) {
  const isList = schema.type === "array";
  const field = createElement(isList ? "fieldset" : "label", "card-field");
  field.dataset.name = name;
  field.dataset.type = schema.type;
  if (schema.format) field.dataset.format = schema.format;
  const title = createElement(isList ? "legend" : "span", "card-field-title", schema.title || name);
  const control = isList ? createChecks(schema) : createControl(schema, isRequired);
  const isCheckbox = schema.type === "boolean";
  field.append(...(isCheckbox ? [control, title] : [title, control]));
  if (schema.description) field.append(createElement("span", "card-field-help", schema.description));
  return field;
}

function createControl(schema, isRequired) {
  const options = listOptions(schema);
  if (options) return createSelect(options, schema.default, isRequired);
  const input = createElement("input");
  if (schema.type === "boolean") {
    input.type = "checkbox";
    input.checked = schema.default === true;
    return input;
  }
  const isNumber = schema.type === "number" || schema.type === "integer";
  input.type = isNumber ? "number" : (INPUT_TYPES[schema.format] ?? "text");
  if (isNumber) input.step = schema.type === "integer" ? "1" : "any";
  for (const [keyword, property] of Object.entries(LIMITS)) {
    if (schema[keyword] != null) input[property] = schema[keyword];
  }
  input.required = isRequired;
  if (schema.default != null) input.value = schema.default;
  return input;
}

function createSelect(options, chosen, isRequired) {
  const select = createElement("select");
  select.required = isRequired;
  select.append(new Option("Choose…", ""));
  for (const { value, title } of options) select.append(new Option(title, value, false, value === chosen));
  return select;
}

function createChecks(schema) {
  const checks = createElement("div", "card-checks");
  for (const { value, title } of listOptions(schema.items) ?? []) {
    const label = createElement("label");
    const input = createElement("input");
    input.type = "checkbox";
    input.value = value;
    input.checked = (schema.default ?? []).includes(value);
    label.append(input, createElement("span", "", title));
    checks.append(label);
  }
  return checks;
}

/** Return the choices of a field, null for a free text. */
function listOptions(schema) {
  const titled = schema.oneOf ?? schema.anyOf;
  if (titled) return titled.map(({ const: value, title }) => ({ value, title: title ?? value }));
  return schema.enum?.map((value) => ({ value, title: value })) ?? null;
}

/** Return the value of a field, undefined for one that was left empty. */
function readField(field) {
  const { type, format } = field.dataset;
  if (type === "array") {
    const values = [...field.querySelectorAll("input:checked")].map((input) => input.value);
    return values.length ? values : undefined;
  }
  const control = field.querySelector("input, select");
  if (type === "boolean") return control.checked;
  if (control.value === "") return undefined;
  if (type === "number" || type === "integer") return control.valueAsNumber;
  return format === "date-time" ? new Date(control.value).toISOString() : control.value;
}
