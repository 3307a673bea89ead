/* Small helpers for elements, and data that the server wrote into the page. */

export const byId = (id) => document.getElementById(id);

/** Return a new copy of the element in a <template>. */
export function cloneTemplate(id) {
  return byId(id).content.firstElementChild.cloneNode(true);
}

/** Return data that the template wrote with json_script. */
export function readData(id) {
  return JSON.parse(byId(id).textContent);
}

/** Return a new element with a class and a text. */
export function createElement(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

export const formatCount = (number) => number.toLocaleString("en-US");

/** Return an amount with the digits that it needs, as chat/pages/shown_messages.py does. */
export function formatDollars(dollars) {
  return `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
}
