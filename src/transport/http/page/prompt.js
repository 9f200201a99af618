// The page of a prompt: a form for its values, the command that gives them, and the text that they expand to.

import { api, ask, attempt } from "./api.js";
import { backToList, bar, button, copy, debounced, find, h, main, note, part, titled, update } from "./dom.js";
import { fields, given } from "./fields.js";
import { outcome } from "./outcome.js";
import { bare, bdi, command, error, errorPage, listAddress, paper, pathOf, problemList, text } from "./text.js";
import { warning } from "./text.js";

/** The most characters of values in an address: some programs cut a longer link. */
const LONGEST_QUERY = 8000;

/** Returns the page of a prompt with these values; of a broken file, or of no prompt, a page that says so. */
export async function promptPage(me, name, values) {
  let file = { text: "" };
  try {
    file = await ask("GET", api(name));
    const view = new PromptView(file, values);
    view.preview = await view.explain();
    return { title: `:${file.name}`, main: view.main(me), values, copy: () => view.copyText() };
  } catch (refused) {
    if (refused.status === 404) return unknownPage(me, name, refused.message);
    if (refused.status === 422) return brokenPage(me, name, file.text, refused.message);
    throw refused;
  }
}

/** Links for those who may edit. */
const actions = (name, hasHistory) => [
  hasHistory && h("a.button", { href: pathOf(name, "/history/") }, "History"),
  h("a.button", { href: pathOf(name, "/edit/") }, "Edit"),
];

/** The page of a name that no prompt has. */
function unknownPage(me, name, reason) {
  const similar = h("a", { href: listAddress({ query: name.replaceAll("/", " ") }) }, "Search for similar prompts");
  const create = h("a", { href: `/new?${new URLSearchParams({ command: name })}` }, "Create ", command(name));
  const versions = h("a", { href: pathOf(name, "/history/") }, "Look for deleted versions");
  const links = me.may_edit ? [similar, create, versions] : [similar];
  return errorPage(name, "No such prompt", reason, ...links);
}

/** The page of a file that cannot be a prompt: why, and what it contains. */
function brokenPage(me, name, source, reason) {
  const heading = titled(command(name), me.may_edit && actions(name, true));
  const article = h(
    "article.prompt",
    h("header", backToList(), heading, h("p.lead", "This file cannot be used as a prompt.")),
    problemList([error(reason)]),
    h("section.whole", h("h2", "Source"), paper("source-text", "Source", { text: source }, `show ${name}`)),
  );
  return { title: name, main: main(article) };
}

/** A prompt with the values that are typed, and the latest answer of the server about them, `preview`. */
class PromptView {
  constructor(file, values) {
    this.file = file;
    this.values = values;
    this.expandSoon = debounced(120, () => this.expand());
    this.putAddressSoon = debounced(400, () => history.replaceState(history.state, "", this.address()));
  }

  /** Whether the prompt takes a value of this name. */
  isKnown(key) {
    const { arguments: declared = [], takes_input } = this.file;
    return declared.some(({ name }) => name === key) || (takes_input && key === "input");
  }

  knownValues() {
    return Object.fromEntries(Object.entries(given(this.values)).filter(([key]) => this.isKnown(key)));
  }

  /** The address of the prompt with its values; without them if it would be too long. */
  address() {
    const path = pathOf(this.file.name);
    const query = new URLSearchParams(this.knownValues()).toString();
    return query && query.length <= LONGEST_QUERY ? `${path}?${query}` : path;
  }

  /** Asks the server for the expansion of the values, and all that the page says of it. */
  explain() {
    return ask("POST", "/api/explain", { command: this.file.name, arguments: this.knownValues() });
  }

  /** Shows the expansion. Returns whether it is shown: an answer to values that have changed since is not. */
  async expand() {
    const values = JSON.stringify(this.values);
    const preview = await attempt(() => this.explain());
    const isCurrent = this.form.isConnected && JSON.stringify(this.values) === values;
    if (!preview || !isCurrent) return false;
    this.preview = preview;
    update(this.result());
    return true;
  }

  async copyCommand() {
    if ((await this.expand()) && this.preview.typed) copy(this.preview.typed);
  }

  async copyText() {
    // The answer of a service is not asked for again.
    if (!this.preview.request && !(await this.expand())) return;
    const words = this.preview.text ?? find("#answer pre")?.textContent;
    if (words != null) copy(words);
  }

  main(me) {
    const { name, takes_input, arguments: declared } = this.file;
    const { problems = [] } = this.preview;
    const all = fields(declared, takes_input, this.values, () => this.change());
    this.form = all.length
      ? h("form.form#form", { onsubmit: (event) => this.submit(event) }, all)
      : note("This prompt has no arguments: its text is always the same.");
    const source = paper("source-text", "Source", this.file, `show ${name}`);
    const article = h(
      "article.prompt",
      header(me, this.preview),
      problemList(problems, { role: "region", "aria-label": "Problems" }),
      h("div.about-values", this.form, details(this.preview)),
      this.result(),
      h("section.whole", h("details#source", h("summary", "Source"), source)),
    );
    return main(article);
  }

  change() {
    this.expandSoon();
    this.putAddressSoon();
  }

  submit(event) {
    event.preventDefault();
    this.expand();
  }

  /** The command and the expansion, each with a button that copies it. */
  result() {
    const { warnings = [], typed, text: words } = this.preview;
    const unknown = Object.keys(this.values).filter((key) => !this.isKnown(key));
    const notUsed = unknown.map((key) => `the prompt has no argument \`${key}\`; its value is not used`);
    const copyCommand = button("#copy-command", "Copy command", () => this.copyCommand(), !typed);
    const copyText = button(".quiet#copy", "Copy text", () => this.copyText(), !words);
    return part(
      "result",
      "Command",
      copyCommand,
      commandLine(this.preview),
      problemList([...warnings, ...notUsed].map(warning)),
      bar(h("h2#expansion-heading", "Expansion"), copyText),
      outcome(this.preview),
    );
  }
}

/** The title and the description, with links to related prompts. */
function header(me, preview) {
  const { name, title, description, layer, format } = preview;
  const lead = [title && h("strong", bdi(title)), title && description && " — ", description && bdi(description)];
  return h(
    "header",
    backToList(),
    titled(command(name), me.may_edit && layer !== "remote" && actions(name, layer === "user" && !format)),
    (title || description) && h("p.lead.text", { dir: "auto" }, lead),
    badges(preview),
  );
}

/** Links to the prompts of the same layer, folder and tags. */
function badges({ name, layer, tags }) {
  const folder = name.slice(0, Math.max(name.lastIndexOf("/"), 0));
  const links = tags.map((tag) => h("a", { href: listAddress({ tag }) }, h("bdi", "#", text(bare(tag)))));
  if (folder) links.unshift(h("a", { href: listAddress({ folder }) }, h("bdi", text(folder), "/")));
  if (layer) links.unshift(h("a", { href: listAddress({ layer }) }, layer));
  return h("ul.badges", links.map((link) => h("li", link)));
}

/** What to type in a chat for the expansion. */
function commandLine({ name, typed }) {
  if (!typed) return note("What is filled in cannot be typed as one command; copy the text instead.");
  const line = paper("typed", "Command", { text: typed }, `show ${name}`);
  line.classList.add("short");
  return line;
}

/** Where the prompt comes from, and how to call it. */
function details({ source, pack, format, includes = [], shadows, attachments = [], usage }) {
  const facts = [
    ["Usage", usage],
    ["Pack", pack],
    ["Format", format],
    ["File", source === "built-in" ? "built into the program" : source],
    ...includes.map((path) => ["Includes", path]),
    ...attachments.map((path) => ["Attaches", path]),
    ...shadows.map((shadowed) => ["Overrides", shadowed.source]),
  ];
  const items = facts.filter(([, value]) => value).map(([term, value]) => [h("dt", term), h("dd", bdi(value))]);
  return h("dl.details", items);
}
