// The editor of a prompt's file: it shows what is wrong with the text, its expansion, and what saving would change.

import { api, ask, askUnless, attempt } from "./api.js";
import { backToList, bar, button, copyOfTemplate, debounced, find, h, main, note, part } from "./dom.js";
import { titled, update } from "./dom.js";
import { fields, given, valuesOf } from "./fields.js";
import { outcome } from "./outcome.js";
import { backToPrompt, bdi, command, diff, error, errorPage } from "./text.js";
import { pathOf, placeInFile, problemList, warning } from "./text.js";

/** Returns the editor of a prompt; of a new one if `name` is `null`. Then the field for its name has `proposedName`. */
export async function editorPage(me, name, proposedName) {
  const opened = name === null ? { file: "" } : await readFile(name);
  if (!opened) return errorPage("Error", "This page cannot be shown", "this prompt cannot be edited here");
  const editor = new Editor(me, name, opened, proposedName);
  return { title: name === null ? "New prompt" : `Edit :${name}`, main: editor.main(), editor };
}

/**
 * Returns the file to edit, with its revision if it is the user's own. If the user has none, it is the text of the
 * prompt that has the name in the layer `other`. Returns `null` if there is nothing to edit.
 */
async function readFile(name) {
  const own = await askUnless([404, 422], "GET", api(name, "history"));
  const used = await askUnless([404, 422], "GET", api(name));
  if (own.revision) {
    const isOverridden = used.layer !== "user" && used.revision !== own.revision;
    const version = own.versions.find(({ current }) => current);
    return { file: own.file, revision: own.revision, version, other: isOverridden ? used.layer : null };
  }
  return used.refused || used.layer === "remote" ? null : { file: used.text, other: used.layer };
}

/** Says what saving means if another prompt has the name. */
function noteOnOther({ other, revision }) {
  if (other === "project") return h("p.lead", "The project has a prompt of this name, which overrides yours.");
  return other && !revision && h("p.lead", "Saving makes a copy of your own.");
}

/** A text in the editor. `opened` is the file as it was opened, `current` as it is now. */
class Editor {
  constructor(me, name, opened, proposedName) {
    Object.assign(this, { me, name, opened, proposedName, current: opened });
    this.save = this.save.bind(this);
    this.checks = 0;
    this.checkSoon = debounced(150, () => this.check());
    /** The values with which the text is tried. */
    this.values = valuesOf([]);
    this.form = copyOfTemplate("editor-form");
    this.area = this.form.elements.file;
    this.area.value = opened.file;
    // A text area has LF for every line ending.
    this.saved = this.area.value;
    this.nameField = this.form.elements.command;
    this.nameField.value = proposedName;
    /** The name that another prompt has, if the user has tried to save with it, and the server's message. */
    this.taken = { name: null, message: null };
  }

  /** The text as it is saved, with the line endings that the file had. */
  text() {
    return this.opened.file.includes("\r\n") ? this.area.value.replaceAll("\n", "\r\n") : this.area.value;
  }

  /** The name of the prompt: the one that it has or, for a new prompt, the one in the field. */
  commandName() {
    return this.name ?? this.nameField.value.trim();
  }

  isDirty() {
    const isNamed = this.name === null && this.nameField.value !== this.proposedName;
    return isNamed || this.area.value !== this.saved;
  }

  /** Makes the page, whose preview is empty until the first check. */
  main() {
    const { name, form } = this;
    const { revision } = this.opened;
    this.area.addEventListener("input", this.checkSoon);
    this.nameField.addEventListener("input", this.checkSoon);
    // Until the next check, nobody knows whether the new name is refused.
    this.nameField.addEventListener("input", () => this.nameField.setCustomValidity(""));
    form.addEventListener("submit", (event) => this.goOn(event));
    if (name !== null) this.nameField.parentElement.remove();
    if (revision) form.querySelector(".bar").append(button(".quiet.remove#delete", "Delete", () => this.remove()));
    form.append(part("side", "Preview", null, h("div#notes"), h("div.form#values"), h("div#result"), h("div#changes")));
    const header = h(
      "header",
      name === null ? backToList() : backToPrompt(name),
      titled(
        name === null ? "New prompt" : ["Edit ", command(name)],
        revision && h("a.button", { href: pathOf(name, "/history/") }, "History"),
      ),
      noteOnOther(this.opened),
    );
    return main(h("article.editor", header, form));
  }

  /** Asks the server about the text, and shows its answer unless a later check has begun. */
  async check() {
    this.checks += 1;
    const number = this.checks;
    const file = this.text();
    // A text can be tried before it has a name.
    const name = this.commandName() || `${this.me.prefix ?? ""}new`;
    // If somebody else has changed the file, both changes are shown against the text that was opened.
    const current = this.current.revision ? this.opened.file : "";
    const body = { command: name, file, arguments: given(this.values), current };
    const answer = await attempt(() => askUnless([422], "POST", "/api/check", body));
    if (!answer || number !== this.checks) return;
    this.reviewed = file;
    this.show(answer);
  }

  /** Reads the file again, which somebody else may have changed, and checks the text. */
  async recheck() {
    if (this.name !== null) {
      const current = await attempt(async () => (await readFile(this.name)) ?? { file: "" });
      if (!current) return;
      this.current = current;
      this.theirChanges = await attempt(() => this.readTheirChanges());
    }
    await this.check();
  }

  /** Returns what somebody else has changed in the file since it was opened; nothing if nobody has. */
  async readTheirChanges() {
    const { file, revision } = this.current;
    if (!revision || !this.hasConflict()) return null;
    const body = { command: this.name, file, arguments: {}, current: this.opened.file };
    return (await ask("POST", "/api/check", body)).changes;
  }

  /** Shows an answer about the text. While the text is broken, its last expansion stays. */
  show(answer) {
    const isTaken = this.name === null && this.commandName() === this.taken.name;
    const refused = isTaken ? this.taken.message : answer.refused;
    // The text of a new prompt is refused because of its name.
    this.nameField.setCustomValidity(refused ?? "");
    update(h("div#notes", this.notes(answer, refused)));
    find("#side").classList.toggle("is-stale", !answer.preview);
    if (!answer.preview) return;
    update(h("div.form#values", fields(answer.arguments, answer.takes_input, this.values, this.checkSoon)));
    update(h("div#result", outcome(answer.preview)));
    update(h("div#changes", this.changes(answer.changes)));
  }

  /** Whether somebody has changed, created or deleted the file since it was opened. */
  hasConflict() {
    return this.current.revision !== this.opened.revision;
  }

  /** What is wrong: a conflict, why the server refuses the text or its name, and the problems of the text. */
  notes({ problems = [], path }, refused) {
    const change = this.current.revision ? "changed" : "deleted";
    const conflict = warning(`this prompt was ${change} after you opened it; what you have written is not lost`);
    const others = [this.hasConflict() && conflict, refused && error(refused)].filter(Boolean);
    const placeOf = (problem) => (problem.file === path ? this.place(problem) : placeInFile(problem));
    return problemList([...others, ...problems], { role: "status" }, placeOf) ?? note("No problems.");
  }

  /** A button that goes to a place in the text; nothing if the problem has no place. */
  place({ line, column }) {
    return line && button(".place", `Line ${line}, column ${column}`, () => this.goTo(line, column));
  }

  /** Puts the cursor before a character. Line and column count from 1, and the column counts code points. */
  goTo(line, column) {
    const lines = this.area.value.split("\n").slice(0, line);
    const start = [...(lines.pop() ?? "")].slice(0, column - 1).join("");
    const offset = [...lines, start].join("\n").length;
    this.area.setSelectionRange(offset, offset);
    // A field that gets the focus scrolls to its cursor.
    this.area.blur();
    this.area.focus();
  }

  /** What will be saved, and the buttons that save it. The browser asks before a reload loses what the user wrote. */
  changes(changes) {
    const isFile = this.current.revision;
    const isConflict = isFile && this.hasConflict();
    if (isFile && !isConflict && !changes.length) return note("There is nothing to save: the file has this text.");
    const reason = copyOfTemplate("note-field");
    reason.querySelector("input").value = find("#note")?.value ?? "";
    const save = button("#save", isFile ? "Save" : "Create", this.save);
    if (!isConflict) return [h("h3", "What will be saved"), diff(changes, "Changes"), reason, bar(save)];
    const theirs = button(".quiet#theirs", "Use their text", () => location.reload());
    const overwrite = button("#overwrite", "Overwrite with mine", this.save);
    return [
      h("h3", "What was changed after you opened it", this.authorAndTime()),
      diff(this.theirChanges ?? [], "Their changes"),
      h("h3", "What you have changed"),
      diff(changes, "Your changes"),
      reason,
      bar([overwrite, theirs]),
    ];
  }

  /** Who made the file what it is now, and when. */
  authorAndTime() {
    const { at, author } = this.current.version ?? {};
    return at && [author && [", by ", bdi(author)], `, ${at.replace("T", " ").slice(0, 19)} UTC`];
  }

  /** Goes to the changes; from there, saves them. */
  async goOn(event) {
    event.preventDefault();
    // A conflict may come up while the focus is where it would save.
    const saving = find("#theirs") ? ["overwrite"] : ["save", "note"];
    if (saving.includes(document.activeElement.id)) return this.save();
    await this.recheck();
    if (this.form.reportValidity()) find("#theirs, #save")?.focus();
  }

  /** Saves the text whose changes are shown, and goes to the prompt. If the name is taken, marks the name. */
  async save() {
    if (!this.form.reportValidity()) return;
    // Nothing is saved unseen.
    if (this.reviewed !== this.text()) return this.recheck();
    const words = this.area.value;
    const body = { file: this.reviewed, expected: this.current.revision, note: find("#note").value || undefined };
    const method = this.current.revision ? "PUT" : "POST";
    const answer = await attempt(() => askUnless([409], method, api(this.commandName()), body));
    if (answer?.command) return this.leave(words, pathOf(answer.command));
    if (answer && this.name === null) this.taken = { name: this.commandName(), message: answer.refused };
    await this.recheck();
    this.form.reportValidity();
  }

  /** Deletes the prompt if the user agrees, and goes to its history, where it can be restored. */
  async remove() {
    if (!confirm("Really delete this prompt?")) return;
    const answer = await attempt(() => ask("DELETE", api(this.name), { expected: this.opened.revision }));
    if (answer) this.leave(this.area.value, pathOf(this.name, "/history/"));
  }

  /** Goes to another page. The text that is saved or given up keeps nobody from leaving; what was typed since does. */
  leave(words, address) {
    this.saved = words;
    this.proposedName = this.nameField.value;
    location.assign(address);
  }

  /** Shows that the file has changed. What is typed stays. */
  async update() {
    await this.recheck();
    if (this.current.revision && this.hasConflict() && !this.isDirty()) location.reload();
  }
}
