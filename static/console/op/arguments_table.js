/* The arguments of a schema as a table, above its JSON. Each edits the other. */
"use strict";

(() => {
  const area = document.querySelector("textarea#id_parameters_schema");
  if (!area) return;

  const TYPES = ["string", "integer", "number", "boolean", "array", "object"];
  const LONG_NUMBER = /\d{16,}/; // JavaScript would round it
  const box = document.createElement("div");
  (area.closest(".json-editor") ?? area).before(box);

  const create = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  function readSchema() {
    if (LONG_NUMBER.test(area.value)) return null;
    try {
      const schema = JSON.parse(area.value);
      const isReadable = isObject(schema) && isObject(schema.properties ?? {}) && Object.values(schema.properties ?? {}).every(isObject);
      return isReadable && Array.isArray(schema.required ?? []) ? schema : null;
    } catch {
      return null;
    }
  }

  /* Change the schema, and put the caret of the JSON into the argument: the preview follows it. */
  function edit(name, change) {
    const schema = readSchema();
    if (!schema) return;
    change(schema);
    area.value = JSON.stringify(schema, null, 2);
    const caret = area.value.indexOf(`\n    ${JSON.stringify(name)}: {`) + name.length + 11;
    area.setSelectionRange(caret, caret);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  const editForm = (name, change) => edit(name, (schema) => change(schema.properties[name]));

  function rename(from, to) {
    edit(to, (schema) => {
      schema.properties = Object.fromEntries(Object.entries(schema.properties).map(([name, form]) => [name === from ? to : name, form]));
      if (schema.required) schema.required = schema.required.map((name) => (name === from ? to : name));
    });
    render();
  }

  function setRequired(name, isRequired) {
    edit(name, (schema) => {
      const others = (schema.required ?? []).filter((each) => each !== name);
      schema.required = isRequired ? [...others, name] : others;
      if (!schema.required.length) delete schema.required;
    });
  }

  function describeType(form) {
    if (form.enum) return form.enum.map(String).join(", ");
    if (Array.isArray(form.type)) return form.type.join(" or ");
    return form.type ?? (form.$ref || form.anyOf || form.oneOf || form.allOf ? "see the JSON" : "any");
  }

  function renderType(name, form) {
    if (form.enum || !TYPES.includes(form.type)) return create("span", { textContent: describeType(form) });
    const select = create("select", {}, ...TYPES.map((each) => create("option", { textContent: each, selected: each === form.type })));
    select.setAttribute("aria-label", `Type of ${name}`);
    select.addEventListener("change", () => editForm(name, (each) => (each.type = select.value)));
    return create("span", {}, select, ...(form.format ? [` ${form.format}`] : []));
  }

  function renderRow(name, form, isRequired) {
    const title = create("input", { value: name, required: true, spellcheck: false });
    title.setAttribute("aria-label", `Name of ${name}`);
    title.addEventListener("change", () => {
      const to = title.value.trim();
      if (to && to !== name && !(to in readSchema().properties)) rename(name, to);
      else title.value = name;
    });
    const required = create("input", { type: "checkbox", checked: isRequired });
    required.setAttribute("aria-label", `${name} is required`);
    required.addEventListener("change", () => setRequired(name, required.checked));
    const description = create("textarea", { value: form.description ?? "", rows: 1, placeholder: "What to send" });
    description.setAttribute("aria-label", `Description of ${name}`);
    description.addEventListener("input", () => {
      editForm(name, (each) => {
        if (description.value.trim()) each.description = description.value;
        else delete each.description;
      });
    });
    const remove = create("button", { type: "button", className: "row-button", title: `Remove ${name}` }, create("span", { className: "material-symbols-outlined", textContent: "delete" }));
    remove.addEventListener("click", () => {
      setRequired(name, false);
      edit(name, (schema) => delete schema.properties[name]);
      render();
    });
    return create("tr", {}, ...[title, renderType(name, form), required, description, remove].map((each) => create("td", {}, each)));
  }

  function render() {
    const schema = readSchema();
    if (!schema) {
      box.replaceChildren(create("p", { className: "ui-hint", textContent: "The table of arguments is shown once the JSON is valid." }));
      return;
    }
    const headings = ["Name", "Type", "Required", "Description"].map((text) => create("th", { scope: "col", textContent: text }));
    const rows = Object.entries(schema.properties ?? {}).map(([name, form]) => renderRow(name, form, (schema.required ?? []).includes(name)));
    const table = create("table", { className: "ui-table op-arguments" }, create("thead", {}, create("tr", {}, ...headings, create("td"))), create("tbody", {}, ...rows));
    const add = create("button", { type: "button", className: "ui-button", textContent: "Add argument" });
    add.addEventListener("click", () => {
      const names = Object.keys(readSchema().properties ?? {});
      let name = "argument";
      for (let number = 2; names.includes(name); number++) name = `argument_${number}`;
      edit(name, (each) => ((each.properties ??= {})[name] = { type: "string" }));
      render();
      box.querySelector("tr:last-child input")?.select();
    });
    const scroll = create("div", { className: "ui-table-scroll", tabIndex: 0 }, table);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Arguments");
    box.replaceChildren(scroll, add);
  }

  // Once a frame: some ways of inserting text fire an event for each line of it.
  let frame = 0;
  area.addEventListener("input", () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (!box.contains(document.activeElement)) render();
    });
  });
  render();
})();
