// The page: a client of the server's API. Each address has a function that asks for what is there and makes `<main>` of it.

import { bdi, command, count, diff, failure, fields, h, listAddress, marked, message, paper, pathOf, placeInFile, plain, problem, sentence, text, thousands, withDone } from "/text.js";

const search = document.querySelector("#search");
const toast = document.querySelector("#toast");
const query = search.elements.query;

const find = (selector) => document.querySelector(selector);
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const isList = (url) => new URL(url).pathname === "/";

function debounced(milliseconds, work) {
  let timer;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds, ...values);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

let hiding;
function say(words, milliseconds = 4000) {
  clearTimeout(hiding);
  toast.textContent = words;
  if (milliseconds) hiding = setTimeout(() => (toast.textContent = ""), milliseconds);
}

// Requests

const AWAY = "The server does not answer. What you see may be out of date.";

/** The token of the address, which is taken out of it at once. It is kept in this tab only. */
const inAddress = /^#token=(.+)$/.exec(location.hash);
if (inAddress) {
  sessionStorage.setItem("token", decodeURIComponent(inAddress[1]));
  history.replaceState(history.state, "", location.pathname + location.search);
}
const authorization = () => {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
};

/** Why there is no answer: its status is 0 if the server is away. */
class Refused extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const headers = { Accept: "application/json", ...authorization() };
  if (body) headers["Content-Type"] = "application/json";
  let response, answer;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error" });
    answer = await response.json();
  } catch {
    throw new Refused(response?.status ?? 0, AWAY);
  }
  if (response.ok) return answer;
  throw new Refused(response.status, answer.error.message);
}

/** The answer, or `null` if there is no such thing. */
async function askFor(path) {
  try {
    return await ask("GET", path);
  } catch (refused) {
    if (refused.status === 404 || refused.status === 422) return null;
    throw refused;
  }
}

const api = (name, of = "prompts") => pathOf(name, `/api/${of}/`);

/** Each load has a number: those of pages, and those of parts of a page. An answer with an old number is dropped. */
const numbers = { page: 0, part: 0 };
function begin(what) {
  numbers.part += 1;
  if (what === "page") numbers.page += 1;
  const number = numbers[what];
  return () => number === numbers[what];
}

/** The answer, if it is still wanted when it is here; else `null`. What is on the page stays if there is none. */
async function load(what, work) {
  const isWanted = begin(what);
  try {
    const answer = await work();
    return isWanted() ? answer : null;
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    if (isWanted()) say(refused.message, refused.status ? 8000 : 0);
    return null;
  }
}

/** Sends a change; `null` if it is not made. */
async function send(method, path, body) {
  try {
    return await ask(method, path, body);
  } catch (refused) {
    say(refused.status ? refused.message.split("\n")[0] : "The server does not answer. Try again; nothing is saved twice.", refused.status ? 10_000 : 0);
    return { status: refused.status };
  }
}

// Pages

/** Who asks: `may_edit`, and more. */
let me = null;
/** What is shown: `{ title, main }`, perhaps with `editor`, and `again(page)` for a fresh one with what is typed. */
let page = { title: "", main: find("main") };
/** The list that was left for a prompt, to go back to at once. */
let left = null;
/** Whether something changed while that was not shown. */
let isStale = false;
/** What was left with unsaved changes, by its path, so that nothing typed is lost. */
const kept = new Map();

const main = (...children) => h("main.wide#main", { tabindex: -1 }, children);

/** What is at an address; where the server refuses it, why. */
async function pageAt(url, before) {
  const { pathname, searchParams } = new URL(url);
  const [, start, rest] = /^\/([^/]*)\/?(.*)$/.exec(pathname);
  const name = decodeURIComponent(rest);
  try {
    me ??= await ask("GET", "/api/me");
    if (start === "") return await listPage(Object.fromEntries(searchParams), before);
    if (start === "prompts") return await promptPage(name, before?.values ? { ...before.unused, ...before.values } : Object.fromEntries(searchParams));
    if (!me.may_edit) return { title: "Error", main: main(failure("This page cannot be shown", "you may not edit prompts on this server")) };
    if (start === "history") return await historyPage(name, searchParams.get("revision"));
    return await editorPage(start === "new" ? null : name, searchParams.get("command") ?? "");
  } catch (refused) {
    if (refused.status === 401) return tokenPage();
    // What is on the page stays; another attempt may work.
    if (!(refused instanceof Refused) || refused.status === 0 || refused.status === 429 || refused.status >= 500) throw refused;
    return { title: "Error", main: main(failure("This page cannot be shown", refused.message)) };
  }
}

function show(next) {
  if (next === page) return;
  if (page.editor?.isDirty()) {
    kept.set(page.path, page);
    say("Your changes are kept in this tab until you save or discard them.", 6000);
  }
  page.main.replaceWith(next.main);
  page = { ...next, path: location.pathname };
  document.title = `${plain(page.title)} · prompt-expander`;
  // For screen readers, which do not announce that `<main>` is replaced.
  find("#announcement").textContent = page.main.querySelector(".count, .alone h1")?.textContent ?? "";
  shown();
}

/** What is on the page has come from the server just now. */
function shown() {
  if (toast.textContent === AWAY) say("", 0);
  follow();
  page.shown?.();
}

/** What is at an address: an editor with unsaved changes, if it was left. */
async function open(url, before) {
  const path = new URL(url).pathname;
  const unsaved = kept.get(path);
  kept.delete(path);
  return load("page", async () => unsaved ?? (await pageAt(url, before)));
}

/** Goes to another address. */
async function visit(url, { replace = false } = {}) {
  searchSoon.cancel();
  const from = location.href;
  const before = { ...page, url: from, y: scrollY };
  const next = await open(url, replace ? page : null);
  if (!next) return;
  if (isList(from) && !isList(url)) left = before;
  if (replace) history.replaceState(null, "", url);
  else history.pushState({ from }, "", url);
  show(next);
  if (replace) return;
  scrollTo(0, 0);
  query.value = isList(url) ? (new URL(url).searchParams.get("query") ?? "") : "";
  page.main.focus({ preventScroll: true });
}

addEventListener("popstate", async () => {
  searchSoon.cancel();
  const url = location.href;
  query.value = isList(url) ? (new URL(url).searchParams.get("query") ?? "") : "";
  if (left?.url !== url) {
    const next = await open(url);
    return void (next && show(next));
  }
  const { y } = left;
  begin("page");
  show(left);
  left = null;
  scrollTo(0, y);
  if (isStale) refresh();
});

addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  if (link.matches(".back") && link.pathname === "/" && left && history.state?.from === left.url) history.back();
  else visit(link.href);
});

function tokenPage() {
  const refused = sessionStorage.getItem("token") && h("p.alert", { role: "alert" }, "This token is wrong, or is no longer valid.");
  sessionStorage.removeItem("token");
  const input = h("input#token-text", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const onsubmit = async (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", input.value.trim());
    const next = await load("page", () => pageAt(location.href));
    if (!next) return;
    show(next);
    (find("#token-text") ?? page.main).focus();
  };
  me = null;
  const field = h("div.field", h("label", { for: "token-text" }, "Token"), input);
  const form = h("form", { onsubmit }, field, h("div", h("button", "Show the prompts")));
  const note = h("p", "Paste the one that you were given. It stays in this tab until you close it, and is stored nowhere else.");
  return { title: "Token", main: main(h("div.alone", h("h1", "This server needs a token"), note, refused, form)), isWaiting: true };
}

// The search

/** The choices of the list, with the words of the search. */
function searched() {
  const url = new URL(location.href);
  const choices = isList(url) ? Object.fromEntries(url.searchParams) : {};
  return new URL(listAddress({ query: query.value, ...choices, ...{ query: query.value } }), location).href;
}

const searchSoon = debounced(90, () => visit(searched(), { replace: isList(location.href) }));

search.addEventListener("input", searchSoon);
search.addEventListener("submit", (event) => {
  event.preventDefault();
  searchSoon();
});

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing) return;
  const isCommand = event.ctrlKey || event.metaKey;
  if (key === "/" && !target.matches("input, textarea, select, [contenteditable]") && !isCommand && !event.altKey) {
    event.preventDefault();
    query.focus();
    query.select();
  } else if (key === "Escape" && target === query) {
    event.preventDefault();
    if (query.value === "") return query.blur();
    query.value = "";
    searchSoon();
  } else if (key === "Enter" && isCommand && target.closest("#form")) {
    event.preventDefault();
    page.copy();
  } else if (key === "s" && isCommand && page.editor) {
    event.preventDefault();
    page.editor.next();
  } else if (key === "ArrowDown" || key === "ArrowUp") {
    const rows = [...document.querySelectorAll(".rows a")];
    const at = rows.indexOf(document.activeElement);
    if (!rows.length || (at < 0 && (target !== query || key === "ArrowUp"))) return;
    event.preventDefault();
    const next = key === "ArrowDown" ? rows[Math.min(at + 1, rows.length - 1)] : (rows[at - 1] ?? query);
    next.focus();
  }
});

// The list

/** How many rows are shown at once; the next ones follow as the end comes near. */
const ROWS = 200;
const MAX_CHOICES = 100;
const MAX_PROBLEMS = 100;

const bare = (tag) => tag.replace(/^#+/, "");
const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

/** `before` is what is shown now: while somebody types, only what was searched for is asked for. */
async function listPage(choices, before) {
  const words = choices.query?.trim() ? choices.query : "";
  const chosen = { ...choices, query: words, folder: choices.folder?.replace(/^\/+|\/+$/g, "") };
  const { layer, folder, tag } = chosen;
  const [all, found] = await Promise.all([
    before?.all ?? ask("GET", "/api/prompts"),
    words && ask("GET", `/api/prompts?${new URLSearchParams({ query: words })}`),
  ]);
  const list = found || all;
  const prompts = list.prompts.filter(
    (prompt) =>
      (!layer || prompt.layer === layer) &&
      (!folder || prompt.name.startsWith(`${folder}/`)) &&
      (!tag || prompt.tags.some((own) => isSame(bare(own), bare(tag)))),
  );
  const isChosen = words || layer || folder || tag;
  const rows = h("ul.rows");
  const more = h("button.quiet.more", { type: "button", onclick: () => addRows() });
  const addRows = (number = ROWS) => {
    const from = rows.childElementCount;
    rows.append(...prompts.slice(from, from + number).map(row));
    const end = rows.childElementCount;
    if (end >= prompts.length) return more.remove();
    const next = Math.min(end + ROWS, prompts.length);
    more.textContent = `Show more: ${thousands(end + 1)} to ${thousands(next)} of ${thousands(prompts.length)}`;
  };
  const content = h(
    "div.browse",
    h("nav.filters", { "aria-label": "Filters" }, filters(all.prompts, chosen)),
    h(
      "div",
      h(
        "div.title",
        h("h1", listHeading(chosen)),
        h("span.count", count(prompts.length, "prompt")),
        isChosen && h("a", { href: "/" }, "Show all"),
        me.may_edit && h("a.button", { href: "/new" }, "New prompt"),
      ),
      problems(list.problems ?? []),
      !prompts.length && h("p.empty", nothing(words, all.prompts.length === 0)),
      rows,
      more,
    ),
  );
  addRows(before?.refreshed ? Math.max(ROWS, before.main.querySelectorAll(".rows li").length) : ROWS);
  const end = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && addRows(), { rootMargin: "2000px" });
  const observe = () => end.observe(more);
  return { title: words ? `Search for ${words}` : "Prompts", main: main(content), all, shown: observe };
}

function listHeading({ query: words, layer, folder, tag }) {
  const start = words ? ["Search for ", bdi(words)] : folder ? [bdi(folder), "/"] : ["All prompts"];
  return [start, words && folder && [" in ", bdi(folder), "/"], tag && [", tagged ", bdi(tag)], layer && [", ", bdi(layer)]];
}

function nothing(words, isEmpty) {
  if (isEmpty) return ["There are no prompts yet. ", h("code", "prompt-expander new NAME --edit"), " makes one; it appears here by itself."];
  if (words) return ["No prompt matches ", h("code", bdi(words)), ". Spelling mistakes are tolerated; try other words."];
  return "No prompts match.";
}

function row({ name, title, description, layer, format, tags, arguments: declared = [] }) {
  const signature = declared.map((argument) => h("code", h("bdi", argument.required ? text(argument.name) : ["[", text(argument.name), "]"])));
  const facts = [tags.map((tag) => h("bdi", "#", text(bare(tag)))), layer !== "user" && h("span", layer), format && h("span", format)];
  const about = h(
    "div.about",
    title && !isSame(title, name) && h("strong.text", { dir: "auto" }, text(title)),
    description && h("div.description.text", { dir: "auto" }, text(description)),
    (tags.length > 0 || layer !== "user" || format) && h("div.facts", facts),
  );
  return h("li", h("a", { href: pathOf(name) }, h("div", command(name), signature.length > 0 && h("div.signature", signature)), about));
}

/** The layers, folders and tags of the whole library, so that they stay where they are while somebody types. */
function filters(prompts, chosen) {
  const [layers, folders, tags] = [new Map(), new Map(), new Map()];
  const add = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
  for (const prompt of prompts) {
    add(layers, prompt.layer);
    prompt.tags.forEach((tag) => add(tags, bare(tag)));
    for (let at = prompt.name.indexOf("/"); at > 0; at = prompt.name.indexOf("/", at + 1)) {
      const folder = prompt.name.slice(0, at);
      if (isOffered(folder, chosen.folder)) add(folders, folder);
    }
  }
  const byName = ([one], [other]) => (one < other ? -1 : 1);
  const known = ["project", "user", "remote", "built-in"].filter((layer) => layers.has(layer)).map((layer) => [layer, layers.get(layer)]);
  return [
    known.length > 1 && choice("Layer", "layer", known, chosen),
    choice("Folder", "folder", [...folders].sort(byName), chosen),
    choice("Tag", "tag", [...tags].sort((one, other) => other[1] - one[1] || byName(one, other)), chosen),
  ];
}

/** Whether a folder can be chosen: one at the top, the chosen one and those above it, and those directly in it. */
function isOffered(folder, chosen) {
  const parent = folder.slice(0, Math.max(folder.lastIndexOf("/"), 0));
  return !parent || Boolean(chosen && (chosen === folder || chosen === parent || chosen.startsWith(`${folder}/`)));
}

/** Choices of a kind, each with the number of its prompts. Choosing the current one again leaves it. */
function choice(heading, kind, values, chosen) {
  if (!values.length) return null;
  const isCurrent = (value) => Boolean(chosen[kind]) && isSame(bare(chosen[kind]), value);
  const shownValues = values.filter(([value], at) => at < MAX_CHOICES || isCurrent(value));
  const items = shownValues.map(([value, number]) => {
    const address = listAddress({ ...chosen, [kind]: isCurrent(value) ? "" : value });
    return h("li", h("a", { href: address, "aria-current": isCurrent(value) && "true" }, bdi(value), h("span", thousands(number))));
  });
  const hidden = values.length - MAX_CHOICES;
  const rest = hidden > 0 && h("li.facts", `and ${thousands(hidden)} more; use the search to find them`);
  return h("section", h("h2", heading), h("ul", items, rest));
}

function problems(all) {
  if (!all.length) return null;
  const items = all.slice(0, MAX_PROBLEMS).map((one) => problem(one, placeInFile(one)));
  const hidden = all.length - MAX_PROBLEMS;
  const rest = hidden > 0 && h("li", `and ${thousands(hidden)} more; `, h("code", "prompt-expander check"), " lists all");
  return h("details.problems#problems", h("summary", `${count(all.length, "problem")} in the files`), h("ul", items, rest));
}

// A prompt

const LONGEST_LINK = 8000;
const MAX_SIMILAR = 8;

const backToList = () => h("a.back", { href: "/" }, "← All prompts");
const actions = (name, hasHistory) => [
  hasHistory && h("a.button", { href: pathOf(name, "/history/") }, "History"),
  h("a.button", { href: pathOf(name, "/edit/") }, "Edit"),
];

async function promptPage(name, values) {
  let file;
  try {
    file = await ask("GET", api(name));
  } catch (refused) {
    if (refused.status === 404) return unknownPage(name, refused.message);
    if (refused.status === 422) return brokenPage(name, { text: "" }, refused.message);
    throw refused;
  }
  if (!file.arguments) return brokenPage(name, file, await ask("POST", "/api/explain", { command: name }).catch((refused) => refused.message));
  const declared = file.arguments;
  const isKnown = (key) => declared.some((argument) => argument.name === key) || (file.takes_input && key === "input");
  const unknown = Object.keys(values).filter((key) => !isKnown(key));
  const typed = Object.fromEntries(Object.entries(values).filter(([key, value]) => isKnown(key) && value));
  const explain = () => ask("POST", "/api/explain", { command: file.name, arguments: given(typed) });
  const preview = await explain();
  // What the address has besides is kept, so that it is still named after the page was made again.
  const unused = Object.fromEntries(unknown.map((key) => [key, values[key]]));
  const next = { title: `:${file.name}`, values: typed, unused };
  let expansion = preview;

  /** The address of the prompt with the values; `null` if it would be too long for a link. */
  const link = () => {
    const filled = new URLSearchParams(given(typed)).toString();
    const url = location.origin + pathOf(file.name) + (filled && `?${filled}`);
    return url.length > LONGEST_LINK ? null : url;
  };
  next.putLink = debounced(400, () => next.main.isConnected && history.replaceState(history.state, "", link() ?? location.pathname));
  const expand = async () => {
    const fresh = await load("part", explain);
    if (!fresh || !next.main.isConnected) return false;
    expansion = fresh;
    replaceKeeping(find("#result"), result());
    return true;
  };
  const expandSoon = debounced(120, () => next.main.isConnected && expand());
  next.copy = async () => {
    expandSoon.cancel();
    if (!expansion.request && !(await expand())) return;
    const answer = expansion.text?.text ?? find("#answer pre")?.textContent;
    if (answer == null) say("There is nothing to copy yet.");
    else copy(answer, find("#copy"));
  };
  const copyLink = ({ currentTarget }) => (link() ? copy(link(), currentTarget) : say("The values are too long for a link."));
  const result = () => {
    const notUsed = unknown.map((key) => `The prompt has no argument \`${key}\`; its value is not used.`);
    const notes = [...(expansion.warnings ?? []).map(sentence), ...notUsed];
    return h(
      "section.result#result",
      { "aria-labelledby": "result-heading" },
      h(
        "div.bar",
        h("h2#result-heading", "Expansion"),
        h("button.quiet#copy-link", { type: "button", onclick: copyLink }, withDone("Copy link")),
        h("button#copy", { type: "button", disabled: !expansion.text, onclick: next.copy }, withDone("Copy")),
      ),
      outcome(expansion),
      notes.map((note) => h("p.length.text", { dir: "auto" }, h("strong", "Note: "), message(note))),
    );
  };
  const set = (key, value) => {
    typed[key] = value;
    expandSoon();
    next.putLink();
  };
  const onsubmit = (event) => {
    event.preventDefault();
    expand();
  };
  const { title, description, layer, format } = preview;
  const isOwn = layer === "user" && !format;
  const lead = [title && h("strong", bdi(title)), title && description && " — ", description && bdi(description)];
  const warnings = (preview.problems ?? []).map((one) => problem(one, placeInFile(one)));
  const form = fields(declared, file.takes_input, typed, set);
  const article = h(
    "article.prompt",
    h(
      "header",
      backToList(),
      h("div.title", h("h1", command(file.name)), me.may_edit && layer !== "remote" && actions(file.name, isOwn)),
      (title || description) && h("p.lead.text", { dir: "auto" }, lead),
      badges(preview),
    ),
    warnings.length > 0 && h("section.problems", { "aria-label": "Problems" }, h("ul", warnings)),
    h(
      "div.about-values",
      form.length ? h("form.form#form", { onsubmit }, form) : h("p.length", "This prompt has no arguments: its text is always the same."),
      details(preview),
    ),
    result(),
    h("section.whole", h("details#source", h("summary", "Source"), paper("source-text", "Source", file, "span.slot", `show ${file.name}`))),
  );
  next.main = main(article);
  return next;
}

/** The values that are not empty: an empty one counts as not given, as everywhere. */
const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

function badges({ name, layer, format, tags, messages }) {
  const folder = name.slice(0, Math.max(name.lastIndexOf("/"), 0));
  const items = [
    layer && h("a", { href: listAddress({ layer }) }, layer),
    format && h("span", layer === "remote" ? `(${format})` : `for ${format}`),
    folder && h("a", { href: listAddress({ folder }) }, h("bdi", text(folder), "/")),
    ...tags.map((tag) => h("a", { href: listAddress({ tag }) }, h("bdi", "#", text(bare(tag))))),
    messages && h("span", `${messages.length} messages`),
  ];
  return h("ul.badges", items.filter(Boolean).map((item) => h("li", item)));
}

/** The expansion, or what is missing for it. */
function outcome(preview) {
  const { name, arguments: values, expansion, error, request, template, text: words } = preview;
  if (request) return requestTo(preview);
  if (words) {
    const { characters, tokens, limits } = expansion;
    return [
      paper("expansion", "Expansion", words, "span.value", `expand ${name}`),
      h("p.length", { role: "status" }, h("strong", thousands(characters)), ` characters, about ${thousands(tokens)} tokens`),
      limitsOf(limits),
    ];
  }
  const missing = values.filter(({ from }) => from === "missing").map((value) => h("code.slot", bdi(value.name)));
  if (!missing.length) return h("p.paper.note.text", { role: "status", dir: "auto" }, message(sentence(error ?? "")));
  const waiting = paper("waiting", "Template", template, "span.slot", `show ${name}`);
  waiting.classList.add("waiting");
  const listed = missing.flatMap((each, at) => [at > 0 && (at + 1 === missing.length ? " and " : ", "), each]);
  return [waiting, h("p.length", { role: "status" }, "Fill in ", listed, " to see the expansion.")];
}

/** What a service would be asked, and a button that asks it: nothing but a click does. */
function requestTo({ name, arguments: values, request: { method, url, headers, body } }) {
  const sent = values.filter(({ from }) => from !== "default" && from !== "nothing").map((value) => [value.name, value.value]);
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\n`);
  const words = `${method} ${url}\n${lines.join("")}${body ? `\n${body}` : ""}`.trimEnd();
  const place = h("div#answer", { "aria-live": "polite" });
  const onclick = async ({ currentTarget: button }) => {
    button.disabled = true;
    const answer = await send("POST", "/api/expand", { command: name, arguments: Object.fromEntries(sent) });
    button.disabled = false;
    if (answer.prompt == null || !place.isConnected) return;
    place.replaceChildren(paper("expansion", "Expansion", { text: answer.prompt, marks: [] }, "span.value", `expand ${name}`));
    find("#copy").disabled = false;
  };
  return [
    h("p.length", "A service renders this prompt. It would get this request:"),
    paper("request", "Request", { text: words, marks: [] }, "span.value", `explain ${name}`),
    h("p", h("button#ask", { type: "button", onclick }, "Ask the service")),
    place,
  ];
}

/** How much of each agent's limit the expansion takes. */
function limitsOf(limits) {
  if (!limits.length) return null;
  const exceeded = limits.filter((limit) => !limit.is_whole);
  const warnings = exceeded.map(({ client, way, when_exceeded: what }) =>
    h("p.length", h("strong", `Too long for ${client} (${way})`), `: ${what ?? "it is cut"}.`),
  );
  const rows = limits.map(({ client, way, length, limit, unit, is_whole: isWhole }) => {
    const share = Math.min(100, Math.ceil((length * 100) / limit));
    const gauge = h(isWhole ? "svg.gauge" : "svg.gauge.over", { "aria-hidden": "true" }, h("rect", { width: `${share}%` }));
    return h(
      "tr",
      h("th", { scope: "row" }, `${client} `, h("small", way)),
      h("td.number", `${thousands(length)} of ${thousands(limit)} ${unit}`),
      h("td", gauge, h("span.visually-hidden", `${share} %`)),
    );
  });
  const heads = [h("th", { scope: "col" }, "Agent"), h("th", { scope: "col" }, "Length"), h("th.visually-hidden", { scope: "col" }, "Share")];
  const table = h("table", h("thead", h("tr", heads)), h("tbody", rows));
  const summary = h("summary", exceeded.length ? "The limits of all agents" : "Every agent shows all of it");
  return [warnings, h("details#limits", summary, table)];
}

/** Where the prompt comes from, and how to call it. */
function details({ source, includes = [], shadows, attachments = [], usage }) {
  const facts = [
    ...(usage ? [["In a chat", usage]] : []),
    ["File", source === "built-in" ? "built into the program" : source],
    ...includes.map((path) => ["Includes", path]),
    ...attachments.map((path) => ["Attaches", path]),
    ...shadows.map((shadowed) => ["Overrides", shadowed.source]),
  ];
  return h("dl.details", facts.map(([term, value]) => [h("dt", term), h("dd", bdi(value))]));
}

/** A file that cannot be a prompt: why, and what it contains. */
function brokenPage(name, file, why) {
  const article = h(
    "article.prompt",
    h(
      "header",
      backToList(),
      h("div.title", h("h1", command(name)), me.may_edit && actions(name, true)),
      h("p.lead", "This file cannot be used as a prompt."),
    ),
    h("section.problems", h("ul", h("li.text", { dir: "auto" }, message(sentence(`${why}`))))),
    h("section.whole", h("h2", "Source"), paper("source-text", "Source", { text: file.text, marks: [] }, "span.slot", `show ${name}`)),
  );
  return { title: name, main: main(article) };
}

/** There is no prompt of this name; perhaps similar ones. */
async function unknownPage(name, why) {
  const { prompts } = await ask("GET", `/api/prompts?${new URLSearchParams({ query: name.replaceAll("/", " ") })}`);
  const similar = prompts.slice(0, MAX_SIMILAR).map((prompt) => h("li", h("a", { href: pathOf(prompt.name) }, command(prompt.name))));
  const then = [
    similar.length > 0 && [h("p", "Similar prompts:"), h("ul", similar)],
    me.may_edit && [
      h("p", h("a", { href: `/new?${new URLSearchParams({ command: name })}` }, "Create ", command(name))),
      h("p", h("a", { href: pathOf(name, "/history/") }, "Look for deleted versions")),
    ],
    h("p", h("a", { href: "/" }, "Show all prompts")),
  ];
  return { title: name, main: main(failure("No such prompt", why, then)) };
}

async function copy(words, button) {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    // Without TLS, a page of another machine has no clipboard.
    const area = h("textarea.visually-hidden", { value: words });
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    button?.focus();
    if (!isCopied) return say("The browser does not allow it; select the text and copy it yourself.");
  }
  say("Copied", 1500);
  button?.classList.add("is-done");
  setTimeout(() => button?.classList.remove("is-done"), 1500);
}

/** Replaces an element, but leaves what the user has opened, scrolled, focused and selected as it was. */
function replaceKeeping(old, fresh) {
  const opened = new Map([...old.querySelectorAll("details[id]")].map(({ id, open: isOpen }) => [id, isOpen]));
  const active = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll("[id]")].filter((element) => element.scrollTop).map(({ id, scrollTop }) => [id, scrollTop]);
  const selection = active?.selectionStart == null ? null : [active.selectionStart, active.selectionEnd];
  const href = active?.getAttribute("href");
  for (const element of fresh.querySelectorAll("details[id]")) element.open = opened.get(element.id) ?? element.open;
  old.replaceWith(fresh);
  for (const [id, top] of scrolled) {
    const element = document.getElementById(id);
    if (element) element.scrollTop = top;
  }
  if (!active) return;
  const same = active.id ? document.getElementById(active.id) : href && find(`main a[href="${CSS.escape(href)}"]`);
  (same || find("main")).focus({ preventScroll: true });
  if (same && selection) same.setSelectionRange(...selection);
}

// The editor

/** The file that is edited as it is now, and its revision if there is one of one's own; `null` if there is no such prompt. */
async function fileNow(name) {
  const [own, used] = await Promise.all([askFor(api(name, "history")), askFor(api(name))]);
  if (own?.revision) {
    const isOverridden = used && used.layer !== "user" && used.revision !== own.revision;
    return { file: own.file, revision: own.revision, other: isOverridden ? used.layer : null };
  }
  return used && used.layer !== "remote" ? { file: used.text, other: used.layer } : null;
}

/** What saving means where another prompt has the name. */
function aboutOther({ other, revision } = {}) {
  if (other === "project") {
    if (revision) return "The project has a prompt of this name, which overrides this one.";
    return "This is the project's prompt. You can save a copy, but the project's prompt overrides it.";
  }
  if (other === "built-in") return "This is a built-in prompt. Saving makes a copy of your own, which overrides it.";
  if (!other || revision) return null;
  return "This prompt is in a folder that prompt-expander does not write to. Saving makes a copy in the first folder of prompts.";
}

/** Whether a button was pressed twice. */
function isSure(button, words) {
  if (button.dataset.sure) return true;
  const label = button.textContent;
  button.dataset.sure = "yes";
  button.textContent = words;
  setTimeout(() => {
    delete button.dataset.sure;
    button.textContent = label;
  }, 4000);
  return false;
}

const lf = (words) => words.replaceAll("\r\n", "\n");

/** `name` is `null` for a new prompt. */
async function editorPage(name, proposed) {
  const none = { file: "" };
  /** The file as it was opened, or saved last; and as it is now. */
  let opened = name === null ? none : await fileNow(name);
  if (!opened) return { title: "Error", main: main(failure("This page cannot be shown", `there is no prompt \`${name}\` that can be edited`)) };
  let now = opened;
  let isReview = false;
  const values = {};
  const hasCrlf = opened.file.includes("\r\n");
  const others = opened.file.replaceAll("\r\n", "");
  const isMixed = others.includes("\r") || (hasCrlf && others.includes("\n"));

  const checkSoon = debounced(150, () => next.main.isConnected && check(isReview));
  const area = h("textarea.code#file", { rows: 20, spellcheck: "false", autocapitalize: "off", "aria-describedby": "about-file", value: opened.file });
  area.oninput = checkSoon;
  const nameAttributes = { required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": "about-command" };
  const field = h("input#command", { ...nameAttributes, value: proposed, oninput: checkSoon });
  const target = () => name ?? field.value.trim();
  const file = () => (hasCrlf ? area.value.replaceAll("\n", "\r\n") : area.value);
  const isDirty = () => area.value !== lf(opened.file).replaceAll("\r", "\n") || (name === null && field.value !== proposed);

  /** Shows what the server says of the text as it is now; `look` also at the file. */
  async function check(review, look = review) {
    checkSoon.cancel();
    const answer = await load("part", async () => {
      // A text can be tried before it has a name.
      const body = { command: target() || `${me.prefix ?? ""}new`, file: file(), arguments: given(values) };
      const found = look && target() ? ((await fileNow(target())) ?? none) : now;
      if (review) body.current = found.revision ? found.file : "";
      if (review && found.revision && name !== null && found.revision !== opened.revision) body.base = opened.file;
      const checked = await ask("POST", "/api/check", body).catch((refused) => {
        if (refused.status !== 422) throw refused;
        return { refused: refused.message, problems: [] };
      });
      return { found, checked };
    });
    if (!answer || !next.main.isConnected) return false;
    now = answer.found;
    isReview = review;
    const fresh = review ? reviewSide(answer.checked) : previewSide(answer.checked);
    replaceSide(find("#side"), fresh);
    return true;
  }

  const changed = () => {
    if (name === null || now.revision === opened.revision) return null;
    if (!now.revision) return "This prompt was deleted after you opened it.";
    return opened.revision ? "This prompt was changed after you opened it." : "A prompt of this name was created after you opened this page.";
  };
  const alert = (...words) => h("p.alert", { role: "status", dir: "auto" }, words);

  function previewSide({ refused, problems: wrong, path, arguments: declared, takes_input: takesInput, preview }) {
    const set = (key, value) => {
      values[key] = value;
      checkSoon();
    };
    const isUntouched = name === null && !area.value;
    const notes = [
      changed() && alert(changed(), " ", h("strong", "Review changes"), " shows both."),
      refused ? alert(message(sentence(refused))) : !isUntouched && problemsOf(wrong, path),
    ];
    return h(
      "section.result#side",
      { "aria-labelledby": "side-heading" },
      h("div.bar", h("h2#side-heading", "Preview")),
      h("div#notes", notes),
      preview && [h("div.form#values", fields(declared, takesInput, values, set)), h("div#result", outcome(preview))],
    );
  }

  /** What `check` says of the text, each with a button to go there. */
  function problemsOf(wrong, path) {
    if (!wrong.length) return h("p.length", { role: "status" }, "No problems.");
    const errors = wrong.filter(({ severity }) => severity === "error").length;
    const items = wrong.map((one) => {
      const onclick = () => jump(one.line, one.column);
      const button = () => h("span.place", h("button.jump", { type: "button", onclick }, `Line ${one.line}, column ${one.column}`));
      return problem(one, one.file !== path ? placeInFile(one) : one.line && button());
    });
    const counted = `${count(errors, "error")}, ${count(wrong.length - errors, "warning")}`;
    return h("section.problems", { "aria-label": "Problems" }, h("p.visually-hidden", { role: "status" }, counted), h("ul", items));
  }

  /** Puts the cursor of the text at a line and a column, in characters. */
  function jump(line, column) {
    const lines = area.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    area.setSelectionRange(at, at);
    // The browser scrolls to the cursor when the focus comes.
    area.blur();
    area.focus();
  }

  /** What saving would change, and the button that saves. If the file was changed meanwhile, that comes first. */
  function reviewSide(checked) {
    const back = () => check(false).then(() => area.focus());
    return h(
      "section.result#side",
      { "aria-labelledby": "side-heading" },
      h("div.bar", h("h2#side-heading", { tabindex: -1 }, "Review changes")),
      changed() && alert(changed(), " What you have written is not lost."),
      changesOf(checked),
      h("div.bar", h("button.quiet#back", { type: "button", onclick: back }, "Back to editing")),
    );
  }

  function changesOf({ refused, problems: wrong, path, preview, changes, theirs, merged }) {
    if (refused) return alert(message(sentence(refused)));
    if (!preview) return [alert("This text cannot be saved, because it would not be a prompt."), problemsOf(wrong, path)];
    if (name === null && now.revision) {
      const edit = h("a", { href: pathOf(target(), "/edit/") }, "edit that prompt");
      return alert("There is already a prompt ", command(target()), ". Choose another name, or ", edit, ".");
    }
    if (now.revision && !changes.length) {
      return h("p.paper.note", { role: "status" }, "There is nothing to save: the file has this text already.");
    }
    const label = !now.revision ? "Create" : changed() ? "Save my text over it" : "Save";
    const note = h("input#note", { autocomplete: "off", "aria-describedby": "about-note", maxlength: 500 });
    return [
      name === null && aboutOther(now) && h("p.alert", aboutOther(now)),
      wrong.length > 0 && problemsOf(wrong, path),
      theirs && theirChanges(theirs, merged),
      h("h3", changed() ? "What saving your text would change now" : "What will be saved"),
      diff(changes, "Changes"),
      h(
        "div.field",
        h("label", { for: "note" }, "Note", h("small", "optional")),
        h("p#about-note", "Why you changed it, for the history."),
        note,
      ),
      h("div.bar", h("button#save", { type: "button", onclick: save }, label)),
    ];
  }

  /** What others have changed since the file was opened, and both changes together where they do not touch the same lines. */
  function theirChanges(theirs, merged) {
    const attributes = { tabindex: 0, role: "group", "aria-label": "The file as it is now" };
    const whole = h("details", h("summary", "The whole file as it is now"), h("pre.paper", attributes, text(now.file)));
    const both = () => {
      opened = now;
      area.value = merged;
      check(true);
    };
    return [
      h("h3", "What others changed in the meantime"),
      diff(theirs, "Changes by others"),
      whole,
      merged == null
        ? h("p.length", "You and they have changed the same lines. Copy what you want to keep into your text.")
        : [
            h("p.length", "Your changes and theirs do not touch the same lines."),
            h("div.bar", h("button.quiet#both", { type: "button", onclick: both }, "Add theirs to my text")),
          ],
    ];
  }

  async function review() {
    if (!form.reportValidity() || !(await check(true))) return;
    find("#side-heading").focus({ preventScroll: true });
    find("#side").scrollIntoView({ block: "nearest" });
  }

  async function save() {
    const button = find("#save");
    if (button.ariaBusy) return;
    button.ariaBusy = "true";
    const [sent, saved, revision] = [file(), area.value, now.revision];
    const note = find("#note").value || undefined;
    const answer = await send(revision ? "PUT" : "POST", api(target()), { file: sent, expected: revision, note });
    button.ariaBusy = null;
    if (!answer.revision) return void (answer.status === 409 && check(true));
    opened = now = { file: sent, revision: answer.revision };
    if (area.value !== saved) return say("Saved, without what you have typed since.");
    proposed = field.value;
    kept.delete(next.path);
    if (next.main.isConnected) await visit(new URL(pathOf(answer.command), location).href);
    say("Saved");
  }

  async function discard({ currentTarget: button }) {
    if (isDirty() && !isSure(button, "Really discard?")) return;
    area.value = opened.file;
    field.value = proposed;
    const fresh = await open(location.href);
    if (fresh) show(fresh);
  }

  async function remove({ currentTarget: button }) {
    if (!isSure(button, "Really delete?")) return;
    const answer = await send("DELETE", api(name), { expected: opened.revision });
    if (!answer.revision) return;
    area.value = opened.file;
    await visit(new URL(pathOf(name, "/history/"), location).href);
    say("Deleted");
  }

  const onsubmit = (event) => {
    event.preventDefault();
    next.editor.next(document.activeElement.id === "note");
  };
  const about = ["Markdown; ", h("code", "{{input}}"), " is replaced by what you type after the name."];
  const mixed = isMixed && " The line endings are of different kinds; saving makes them all the same.";
  const form = h(
    "form#editor",
    { onsubmit },
    h(
      "div.writing",
      name === null &&
        h(
          "div.field",
          h("label", { for: "command" }, "Name", h("small", "required")),
          h("p#about-command", "What you will type after a colon, such as ", h("code", "standup"), " or ", h("code", "git/commit"), "."),
          field,
        ),
      h("div.field", h("label", { for: "file" }, "Text"), h("p#about-file", about, mixed), area),
      h(
        "div.bar",
        h("button#review", "Review changes"),
        h("button.quiet#discard", { type: "button", onclick: discard }, "Discard changes"),
        opened.revision && h("button.quiet.remove#delete", { type: "button", onclick: remove }, "Delete"),
      ),
    ),
    previewSide({ problems: [], preview: null }),
  );
  const heading = name === null ? h("h1", "New prompt") : h("h1", "Edit ", command(name));
  const toHistory = opened.revision && h("a.button", { href: pathOf(name, "/history/") }, "History");
  const back = name === null ? backToList() : h("a.back", { href: pathOf(name) }, "← Back to the prompt");
  const header = h("header", back, h("div.title", heading, toHistory), aboutOther(opened) && h("p.lead", aboutOther(opened)));
  const next = {
    title: name === null ? "New prompt" : `Edit :${name}`,
    main: main(h("article.editor", header, form)),
    shown: () => check(isReview, isDirty()),
    editor: {
      isDirty,
      /** Whether the file has changed, and nothing typed would be lost with the page; what is typed is checked with the file. */
      isOutdated: async () => {
        if (isDirty()) return void (await check(isReview, true));
        const fresh = await load("part", () => name && fileNow(name));
        return Boolean(fresh) && fresh.revision !== opened.revision;
      },
      next: (isNote) => (find("#save") && (isNote ?? true) ? save() : review()),
    },
  };
  return next;
}

/** Replaces the parts that have changed. While the text is broken, its last expansion stays. */
function replaceSide(old, fresh) {
  const part = (side, name) => side.querySelector(`#${name}`);
  if (!part(old, "notes") || !part(fresh, "notes") || !part(old, "result")) return replaceKeeping(old, fresh);
  old.classList.toggle("is-stale", !part(fresh, "result"));
  for (const name of ["notes", "values", "result"]) {
    const [before, now] = [part(old, name), part(fresh, name)];
    if (now && !before.isEqualNode(now)) replaceKeeping(before, now);
  }
}

addEventListener("beforeunload", (event) => {
  if (kept.size || page.editor?.isDirty()) event.preventDefault();
});

// The history

const OPERATIONS = {
  create: "Created",
  update: "Changed",
  delete: "Deleted",
  restore: "Restored",
  by_hand: "Changed outside of prompt-expander",
};

/** Without a revision, the version before the current one is shown. */
async function historyPage(name, revision) {
  const at = (version) => `${api(name, "history")}?${new URLSearchParams({ revision: version })}`;
  const { versions } = await ask("GET", api(name, "history"));
  const current = versions.find((version) => version.current);
  const chosen = revision ?? versions.find((version) => version.revision !== current?.revision)?.revision;
  const version = chosen && (await ask("GET", at(chosen)));
  const item = ({ revision: own, at: time, operation, author, note, current: isCurrent }) => {
    const isChosen = own === chosen && operation !== "delete";
    const when = `${time.replace("T", " ").slice(0, 19)} UTC`;
    const what = h("span", OPERATIONS[operation], author && [" by ", bdi(author)], isCurrent && ", current");
    const why = note && h("span.text", { dir: "auto" }, "“", text(note), "”");
    const href = `${pathOf(name, "/history/")}?revision=${own}`;
    return h("li", h("a", { href, "aria-current": isChosen && "true" }, h("strong", h("time", { datetime: time }, when)), what, why));
  };
  const restore = async () => {
    const answer = await send("POST", "/api/restore", { command: name, revision: chosen, expected: current?.revision });
    if (!answer.revision) return refresh();
    await visit(new URL(pathOf(name), location).href);
    say("Restored");
  };
  const shownVersion = () =>
    h(
      "section.result#side",
      { "aria-labelledby": "side-heading" },
      h(
        "div.bar",
        h("h2#side-heading", chosen === current?.revision ? "The current version" : "An earlier version"),
        chosen !== current?.revision && h("button#restore", { type: "button", onclick: restore }, "Restore this version"),
      ),
      version.changes && [h("h3", "What restoring it changes"), diff(version.changes, "What restoring it changes")],
      h("h3", "Its text"),
      paper("version", "The text of this version", { text: version.file, marks: [] }, "span.slot", `diff ${name} ${chosen}`),
    );
  const back = current ? h("a.back", { href: pathOf(name) }, "← Back to the prompt") : backToList();
  const edit = current && h("a.button", { href: pathOf(name, "/edit/") }, "Edit");
  const article = h(
    "article.editor.history",
    h(
      "header",
      back,
      h("div.title", h("h1", "History of ", command(name)), edit),
      !current && h("p.lead", "This prompt was deleted. You can restore it."),
    ),
    h("div.columns", h("ol.versions", versions.map(item)), version ? shownVersion() : h("p.empty", "There is no earlier version.")),
  );
  return { title: `History of :${name}`, main: main(article) };
}

// Edits of files

let isRefreshing = false;
let isRefreshWanted = false;

/** Shows this address as it is now. */
async function refresh() {
  isRefreshWanted = true;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isRefreshWanted) {
    isRefreshWanted = isStale = false;
    await refreshOnce();
  }
  isRefreshing = false;
}

async function refreshOnce() {
  // What is typed stays; the server says what has changed.
  if (page.editor && !(await page.editor.isOutdated())) return;
  const [before, number, typed] = [page, numbers.page, JSON.stringify(page.values)];
  try {
    const fresh = await pageAt(location.href, { ...page, all: null, refreshed: true });
    if (left) isStale = true;
    if (number !== numbers.page) return;
    // What is typed meanwhile is answered with the files as they are then; only the rest of the page is old.
    if (page !== before || page.editor?.isDirty() || JSON.stringify(page.values) !== typed) return void (isRefreshWanted = true);
    document.title = `${plain(fresh.title)} · prompt-expander`;
    if (page.main.isEqualNode(fresh.main)) return void (page.all = fresh.all);
    replaceKeeping(page.main, fresh.main);
    page = { ...fresh, path: location.pathname };
    page.putLink?.();
    shown();
  } catch {
    isStale = true;
  }
}

/** The stream of changes, which is open while the page is visible. */
let changes = null;

/** The resource that this page shows, if it is a prompt: it may be a broken file, which is in no list. */
const resource = () => {
  const name = /^\/(?:prompts|edit|history)\/(.*)/.exec(location.pathname)?.[1];
  return name ? `prompt://${name}` : null;
};

function stopFollowing() {
  changes?.controller.abort();
  changes = null;
}

async function follow() {
  const uri = resource();
  if (document.hidden || page.isWaiting) return stopFollowing();
  if (changes?.uri === uri) return;
  stopFollowing();
  const controller = new AbortController();
  const { signal } = controller;
  changes = { controller, uri };
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const response = await fetch("/mcp", listening(uri, signal));
      if (response.ok) {
        attempt = 1;
        // The first event, which says that the stream has begun, is also a reason: changes since the answer to this page are not reported.
        await eachLine(response.body, (line) => /"notifications\//.test(line) && refresh());
      }
    } catch {
      // The server is away, or the stream was ended here.
    }
    await wait(Math.min(500 * 2 ** attempt, 30_000));
  }
}

function listening(uri, signal) {
  const version = "2026-07-28";
  const method = "subscriptions/listen";
  const meta = (key) => `io.modelcontextprotocol/${key}`;
  const _meta = {
    [meta("protocolVersion")]: version,
    [meta("clientInfo")]: { name: "page", version: "1" },
    [meta("clientCapabilities")]: {},
  };
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  if (uri) notifications.resourceSubscriptions = [uri];
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": version,
    "Mcp-Method": method,
    ...authorization(),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { notifications, _meta } });
  return { method: "POST", headers, body, signal, cache: "no-store", credentials: "omit" };
}

async function eachLine(stream, work) {
  let rest = "";
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.forEach(work);
  }
}

document.addEventListener("visibilitychange", () => {
  follow();
});

query.value = isList(location.href) ? (new URL(location.href).searchParams.get("query") ?? "") : "";
const first = await open(location.href);
if (first) show(first);
