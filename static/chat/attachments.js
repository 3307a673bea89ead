/* Files that are attached to the message that is being written: uploaded immediately, shown as chips, kept on reload. */

import { announce, showAlert } from "./announcer.js";
import { ApiProblem, sendFile } from "./api.js";
import { byId, cloneTemplate } from "./dom.js";

const MAX_FILES = 10; // of a message, as the server has it

export class Attachments {
  /** `onChange()`: files came, went, or were stored. */
  constructor({ key, onChange }) {
    this.list = byId("attachments");
    this.input = byId("files");
    this.maxBytes = Number(this.list.dataset.maxBytes);
    this.key = key;
    this.onChange = onChange;
    this.items = []; // {chip, name, stored, abort}
    byId("attach").addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => {
      this.add([...this.input.files]);
      this.input.value = ""; // so that the same file can be chosen again
    });
    this.list.addEventListener("click", (event) => {
      const button = event.target.closest(".attachment-remove");
      if (button) this.remove(this.items.find((item) => item.chip.contains(button)));
    });
    this.listenForDrops();
    this.restore(this.readKept());
  }

  /** Whether a file is still being uploaded, or was refused: the message would go without it. */
  get isPending() {
    return this.items.some((item) => !item.stored);
  }

  add(files) {
    showAlert("");
    for (const file of files) {
      if (this.items.length >= MAX_FILES) {
        showAlert(`A message can have at most ${MAX_FILES} files.`);
        return;
      }
      this.upload(file);
    }
  }

  /** Return the stored files, and begin again without any. */
  take() {
    const files = this.items.map((item) => item.stored);
    this.items.forEach((item) => item.chip.remove());
    this.items = [];
    this.update();
    return files;
  }

  /** Show stored files, such as those of a message that was refused. */
  restore(files) {
    for (const stored of files) this.show(stored, stored);
  }

  moveTo(key) {
    sessionStorage.removeItem(this.key);
    this.key = key;
    this.update();
  }

  async upload(file) {
    const item = this.show(file);
    if (file.size > this.maxBytes) {
      this.fail(item, `larger than ${formatSize(this.maxBytes)}`);
      return;
    }
    announce(`Uploading ${file.name}`);
    try {
      item.stored = await sendFile(file, item.abort.signal);
      item.chip.dataset.state = "stored";
      item.chip.querySelector(".attachment-note").textContent = formatSize(file.size);
      announce(`${file.name} is attached`);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (!(problem instanceof ApiProblem)) throw problem;
      this.fail(item, "not attached");
      showAlert(`${file.name}: ${problem.message}`);
    }
    this.update();
  }

  fail(item, note) {
    item.chip.dataset.state = "failed";
    item.chip.querySelector(".attachment-note").textContent = note;
    announce(`${item.name}: ${note}. Remove it to send the message.`);
    this.update();
  }

  show({ name, size }, stored = null) {
    const chip = cloneTemplate("attachment-template");
    const item = { chip, name, stored, abort: new AbortController() };
    chip.dataset.state = stored ? "stored" : "uploading";
    chip.querySelector(".attachment-name").textContent = name;
    chip.querySelector(".attachment-note").textContent = stored ? formatSize(size) : "uploading…";
    chip.querySelector(".attachment-remove").setAttribute("aria-label", `Remove ${name}`);
    this.items.push(item);
    this.list.append(chip);
    this.update();
    return item;
  }

  remove(item) {
    const next = item.chip.nextElementSibling ?? item.chip.previousElementSibling;
    item.abort.abort();
    item.chip.remove();
    this.items = this.items.filter((each) => each !== item);
    announce(`${item.name} was removed`);
    (next?.querySelector("button") ?? byId("attach")).focus();
    this.update();
  }

  listenForDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const mark = (isOver) => document.body.classList.toggle("is-dropping", isOver);
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(true);
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(false);
      this.add([...event.dataTransfer.files]);
    });
    byId("message").addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      this.add([...event.clipboardData.files]);
    });
  }

  readKept() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key) ?? "[]");
    } catch {
      return [];
    }
  }

  update() {
    this.list.hidden = !this.items.length;
    const stored = this.items.map((item) => item.stored).filter(Boolean);
    if (stored.length) sessionStorage.setItem(this.key, JSON.stringify(stored));
    else sessionStorage.removeItem(this.key);
    this.onChange();
  }
}

function formatSize(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
