/* Shows only the fields of a connection that its kind, its authentication and its end users need, and offers only their
   secrets.

   A select says in data-fields which fields each of its options needs, and in data-secrets which secrets. Nothing that
   is hidden is lost: it is still sent. */
"use strict";

(() => {
  const form = document.querySelector("#content-main > form");
  if (!form) return;

  const selects = [...form.querySelectorAll("select[data-fields]")];
  const group = document.getElementById("secrets-group");
  const readMap = (select, name) => JSON.parse(select.dataset[name] || "{}");
  const namesOf = (select, name) => readMap(select, name)[select.value] || [];

  function showFields() {
    for (const select of selects) {
      for (const field of new Set(Object.values(readMap(select, "fields")).flat())) {
        const line = form.querySelector(`.field-line.field-${field}`);
        if (!line) continue;
        line.hidden = !isNeeded(field) && !line.classList.contains("errors");
      }
    }
    for (const box of [...form.querySelectorAll(".form-row:has(> .field-line)"), ...form.querySelectorAll("fieldset")]) {
      const lines = [...box.querySelectorAll(".field-line")];
      box.hidden = lines.length > 0 && lines.every((line) => line.hidden);
    }
  }

  const governs = (select, field) => Object.values(readMap(select, "fields")).some((names) => names.includes(field));

  // A select that is hidden itself, such as the transport of an HTTP service, does not count.
  const isNeeded = (field) =>
    selects.every((each) => !governs(each, field) || !isNeeded(each.name) || namesOf(each, "fields").includes(field));

  function offerSecrets() {
    if (!group) return;
    const needed = selects
      .filter((select) => isNeeded(select.name))
      .flatMap((select) => namesOf(select, "secrets"));
    // Further API keys are needed with every kind of authentication.
    const values = [...group.querySelectorAll("option")].map((option) => option.value);
    needed.push(...new Set(values.filter((value) => value.startsWith("key:"))));
    const rows = [...group.querySelectorAll(".form-group")];
    const stored = rows.filter((row) => row.classList.contains("original"));
    const taken = stored.map((row) => row.querySelector("select")?.value);
    for (const row of rows.filter((each) => !stored.includes(each))) {
      const select = row.querySelector("select");
      if (!select) continue;
      for (const option of select.options) option.hidden = option.disabled = !needed.includes(option.value);
      const free = needed.filter((name) => !taken.includes(name));
      if (!needed.includes(select.value) || taken.includes(select.value)) select.value = free[0] || needed[0] || "";
      const isBlank = !row.querySelector("input[type=password]")?.value;
      if (!row.classList.contains("empty-form")) {
        row.hidden = isBlank && !free.length && !row.querySelector(".errors");
        if (!row.hidden) taken.push(select.value);
      }
    }
    group.hidden = !needed.length && !stored.length;
  }

  function update() {
    showFields();
    offerSecrets();
  }

  for (const select of selects) select.addEventListener("change", update);
  document.addEventListener("formset:added", (event) => {
    offerSecrets();
    event.target.closest(".form-group").hidden = false; // the user asked for it, even if every secret is set
  });
  update();
})();
