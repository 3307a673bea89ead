// Keeps the table of an import in step with its filter and group, and says how much is picked.

const form = document.querySelector("[data-import-form]");
const rows = [...document.querySelectorAll("[data-operation]")].map((row) => ({
  row,
  box: row.querySelector("[name=op]"),
  text: row.textContent.toLowerCase() + row.dataset.tags.toLowerCase(),
  tags: JSON.parse(row.dataset.tags),
  tokens: Number(row.dataset.tokens),
}));

function readChecked(name) {
  return new Set([...form.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value));
}

function update() {
  const tags = readChecked("tags");
  const methods = readChecked("methods");
  const words = (form.elements.search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const deprecated = form.elements.include_deprecated;
  let picked = 0;
  let tokens = 0;
  for (const { row, box, text, ...each } of rows) {
    const matches =
      (!tags.size || each.tags.some((tag) => tags.has(tag))) &&
      (!methods.size || methods.has(row.dataset.method)) &&
      (!deprecated || deprecated.checked || !("deprecated" in row.dataset)) &&
      words.every((word) => text.includes(word));
    row.hidden = !matches;
    if (!matches || !box.checked) continue;
    picked += 1;
    tokens += each.tokens;
  }
  const help = tokens ? `; on average, ${Math.round(tokens / picked)} tokens of help for one` : "";
  form.querySelector("[data-picked]").textContent = `${picked} of ${rows.length} ticked${help}.`;
}

function showGroup() {
  for (const prefix of form.querySelectorAll("[data-group-prefix]")) prefix.textContent = `${form.elements.group.value}.`;
}

if (form) {
  form.addEventListener("input", (event) => {
    // Only changed names are sent, because a form has a limited number of fields.
    if (event.target.dataset.name) event.target.name = event.target.dataset.name;
    showGroup();
    update();
  });
  update();
}
