/* Keyboard shortcuts. templates/chat/shortcuts.html lists them. */

import { byId } from "./dom.js";

const isMac = navigator.platform.startsWith("Mac");

/** `onEditLast()` edits the last message. `newUrl` is the page of a new conversation. */
export function listenForShortcuts({ onEditLast, newUrl }) {
  document.addEventListener("keydown", (event) => {
    const name = nameKeys(event);
    const field = event.target.closest("input, textarea");
    const actions = {
      "?": () => !field && byId("shortcuts").togglePopover(),
      ArrowUp: () => field?.id === "message" && !field.value && onEditLast(),
      "Mod+k": () => focusSearch(),
      "Mod+Shift+o": () => location.assign(newUrl),
    };
    if (actions[name] && actions[name]() !== false) event.preventDefault();
  });
}

/** Return the keys as the list has them. Characters such as ? have their own Shift. */
function nameKeys({ key, ctrlKey, metaKey, shiftKey, altKey, isComposing }) {
  const isMod = isMac ? metaKey : ctrlKey;
  if (isComposing || altKey || (isMac ? ctrlKey : metaKey)) return "";
  return isMod ? `Mod+${shiftKey ? "Shift+" : ""}${key.toLowerCase()}` : key;
}

function focusSearch() {
  const search = byId("search");
  if (!search) return false; // the panel has none
  const sidebar = byId("sidebar");
  if (getComputedStyle(sidebar).display === "none") sidebar.showPopover();
  search.focus();
  return true;
}
