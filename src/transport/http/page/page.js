// The page: a client of the server's API. Each address has a function that asks for what is there and makes `<main>` of it.

import { bdi, command, count, diff, failure, fields, given, h, listAddress, message, note, paper, pathOf, placeInFile, plain, problem, problemList, sentence, text, thousands } from "/text.js";

const search = document.querySelector("#search");
const toast = document.querySelector("#toast");
const query = search.elements.query;

const find = (selector) => document.querySelector(selector);
const isList = location.pathname === "/";

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

/** The token: that of this tab, else the one that the user has chosen to keep in this browser. */
const token = () => sessionStorage.getItem("token") ?? localStorage.getItem("token");

/** Stores a token in this tab, or in this browser; `null` removes it from both. */
function store(words, isKept) {
  sessionStorage.removeItem("token");
  localStorage.removeItem("token");
  if (words) (isKept ? localStorage : sessionStorage).setItem("token", words);
}

/** Removes a token that the server refused. Another one, which was stored meanwhile, stays. */
function forgetToken(refused) {
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem("token") === refused) storage.removeItem("token");
  }
}

const IN_ADDRESS = "#token=";
const OTHER_TOKEN = "This link has a different token from the one that you use here. Use the token of the link in this tab?";

/** The text of a part of an address, or `null` if that is broken. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Takes the token out of the address at once. Returns whether it is used from now on; it replaces another only if the user says so. */
function takeToken() {
  if (!location.hash.startsWith(IN_ADDRESS)) return false;
  const fresh = decoded(location.hash.slice(IN_ADDRESS.length));
  history.replaceState(history.state, "", location.pathname + location.search);
  if (!fresh || fresh === token()) return false;
  if (token() && !confirm(OTHER_TOKEN)) return false;
  sessionStorage.setItem("token", fresh);
  return true;
}

takeToken();
addEventListener("hashchange", () => takeToken() && location.reload());

const authorization = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

const keep = document.querySelector("#keep");
keep.addEventListener("change", () => store(token(), keep.checked));

/** Why there is no answer: its status is 0 if the server is away. `token` is what the request had, or `null`. */
class Refused extends Error {
  constructor(status, why, token) {
    super(why);
    this.status = status;
    this.token = token;
  }
}

async function ask(method, path, body) {
  const sent = token();
  const headers = { Accept: "application/json", ...authorization() };
  if (body) headers["Content-Type"] = "application/json";
  let response, answer;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error" });
    answer = await response.json();
  } catch {
    throw new Refused(response?.status ?? 0, AWAY, sent);
  }
  if (response.ok) return answer;
  throw new Refused(response.status, answer.error.message, sent);
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

/** The answer; `null` if the server refuses it, which is said. */
async function attempt(work) {
  try {
    const answer = await work();
    if (toast.textContent === AWAY) say("", 0);
    return answer;
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    say(refused.message.split("\n")[0], refused.status ? 8000 : 0);
    return null;
  }
}

/** Each load has a number: those of pages, and those of parts of a page. An answer with an old number is dropped. */
const numbers = { page: 0, part: 0 };
async function load(what, work) {
  numbers.part += 1;
  if (what === "page") numbers.page += 1;
  const number = numbers[what];
  const answer = await attempt(work);
  return number === numbers[what] ? answer : null;
}

// Pages

/** Who asks: `may_edit`, and more. */
let me = null;
/** What is shown: `{ title, main }`, perhaps with `values` that are typed, `copy`, an `editor`, or `all` prompts and a `limit` of rows. */
let page = { main: find("main") };

const main = (...children) => h("main.wide#main", { tabindex: -1 }, children);
const backToList = () => h("a.back", { href: "/" }, "← All prompts");
const instead = (title, heading, why, ...then) => ({ title, main: main(failure(heading, why, then, h("p", backToList()))) });
const cannotShow = (why) => instead("Error", "This page cannot be shown", why);
const button = (selector, label, onclick) => h(`button${selector}`, { type: "button", onclick }, label);
const titled = (heading, ...more) => h("div.title", h("h1", heading), more);
const bar = (...children) => h("div.bar", children);

/** A part of a page with a heading of its own, and with buttons next to it. */
function part(id, heading, buttons, ...children) {
  const label = h(`h2#${id}-heading`, { tabindex: -1 }, heading);
  return h(`section.result#${id}`, { "aria-labelledby": `${id}-heading` }, bar(label, buttons), children);
}

/** Values by name, with nothing else: an argument may be named `constructor`. */
const valuesOf = (entries) => Object.assign(Object.create(null), Object.fromEntries(entries));

/** What is at an address; where the server refuses it, why. What was typed or asked for `before` is used. */
async function pageAt(url, before) {
  const { pathname, searchParams } = new URL(url);
  const [, start, rest] = /^\/([^/]*)\/?(.*)$/.exec(pathname);
  if (!["", "prompts", "new", "edit", "history"].includes(start) || (!rest && !["", "new"].includes(start))) {
    return instead("Not found", "There is no such page", "nothing is at this address");
  }
  const name = decoded(rest);
  if (name === null) return instead("Not found", "There is no such page", "the address is broken");
  try {
    me ??= await ask("GET", "/api/me");
    if (start === "") return await listPage(Object.fromEntries(searchParams), before);
    if (start === "prompts") return await promptPage(name, before.values ?? valuesOf(searchParams));
    if (!me.may_edit) return cannotShow("you may not edit prompts on this server");
    if (start === "history") return await historyPage(name, searchParams.get("revision"));
    return await editorPage(start === "new" ? null : name, searchParams.get("command") ?? "");
  } catch (refused) {
    if (refused.status === 401) return tokenPage(refused.token);
    // What is on the page stays; another attempt may work.
    if (!(refused instanceof Refused) || refused.status === 0 || refused.status === 429 || refused.status >= 500) throw refused;
    return cannotShow(refused.message);
  }
}

function show(next) {
  replaceKeeping(page.main, next.main);
  page = next;
  document.title = `${plain(page.title)} · prompt-expander`;
  // For screen readers, which do not announce that `<main>` is replaced.
  find("#announcement").textContent = page.main.querySelector(".count, .alone h1")?.textContent ?? "";
  keep.checked = token() !== null && token() === localStorage.getItem("token");
  keep.parentElement.hidden = !token();
  follow();
  page.editor?.shown();
}

/** Asks for a token; `refusedToken` is the one that is wrong, or `null`. */
function tokenPage(refusedToken) {
  const refused = refusedToken && problemList([problem({ severity: "error", message: "this token is wrong, or is no longer valid" })], { role: "alert" });
  forgetToken(refusedToken);
  const kept = token() && h("p", button("#use-kept", "Use the token that is kept in this browser", () => location.reload()));
  const attributes = { type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true };
  const input = h("input#token-text", attributes);
  const box = h("input#keep-token", { type: "checkbox" });
  const onsubmit = (event) => {
    event.preventDefault();
    store(input.value.trim(), box.checked);
    location.reload();
  };
  const field = h("div.field", h("label", { for: "token-text" }, "Token"), input);
  const form = h("form", { onsubmit }, field, h("label.check", box, "Keep it in this browser"), h("div", h("button", "Show the prompts")));
  const about = h("p", "Paste the one that you were given. It stays in this tab until you close it, unless you choose to keep it.");
  return { title: "Token", main: main(h("div.alone", h("h1", "This server needs a token"), about, refused, kept, form)), isWaiting: true };
}

// The search

/** The address of what is shown; that of a list with the words of the search. */
function address() {
  const choices = Object.fromEntries(new URL(location.href).searchParams);
  return isList ? new URL(listAddress({ query: "", ...choices, query: query.value }), location).href : location.href;
}

const searchSoon = debounced(90, async () => {
  const url = address();
  const next = await load("page", () => pageAt(url, page));
  if (!next) return;
  history.replaceState(null, "", url);
  show(next);
});

if (isList) {
  search.addEventListener("input", searchSoon);
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    searchSoon();
  });
}

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing) return;
  const isCommand = event.ctrlKey || event.metaKey;
  if (key === "/" && !target.matches("input, textarea, select, [contenteditable]") && !isCommand && !event.altKey) {
    event.preventDefault();
    query.focus();
    query.select();
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

/** How many rows are shown until somebody asks for all. */
const ROWS = 500;

/** The order of layers in the list. */
const LAYERS = ["project", "user", "team", "pack", "remote", "built-in"];

/** `team2` comes before `team10`. */
const inOrder = new Intl.Collator("en", { numeric: true }).compare;
const byLayer = (one, other) => LAYERS.indexOf(one.layer) - LAYERS.indexOf(other.layer) || inOrder(one.name, other.name);

const bare = (tag) => tag.replace(/^#+/, "");
const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

/** `before` is what is shown now: while somebody types, only what was searched for is asked for. */
async function listPage(choices, before) {
  const words = choices.query?.trim() ? choices.query : "";
  const chosen = { ...choices, query: words, folder: choices.folder?.replace(/^\/+|\/+$/g, "") };
  const { layer, folder, tag } = chosen;
  const [all, found] = await Promise.all([
    before.all ?? ask("GET", "/api/prompts"),
    words && ask("GET", `/api/prompts?${new URLSearchParams({ query: words })}`),
  ]);
  // The best first; all of them by layer and name.
  const list = found || { ...all, prompts: all.prompts.toSorted(byLayer) };
  const fits = {
    layer: (prompt) => !layer || prompt.layer === layer,
    folder: (prompt) => !folder || prompt.name.startsWith(`${folder}/`),
    tag: (prompt) => !tag || prompt.tags.some((own) => isSame(bare(own), bare(tag))),
  };
  const matching = (but) => list.prompts.filter((prompt) => Object.entries(fits).every(([kind, fit]) => kind === but || fit(prompt)));
  const prompts = matching();
  const isChosen = words || layer || folder || tag;
  const limit = before.limit ?? ROWS;
  const showAll = () => {
    page.limit = Infinity;
    refresh();
  };
  const content = h(
    "div.browse",
    h("nav.filters", { "aria-label": "Filters" }, filters(all.prompts, matching, chosen)),
    h(
      "div",
      titled(
        words ? ["Search for ", bdi(words)] : isChosen ? "Prompts" : "All prompts",
        h("span.count", count(prompts.length, "prompt")),
        isChosen && h("a", { href: "/" }, "Show all"),
        me.may_edit && h("a.button", { href: "/new" }, "New prompt"),
      ),
      problems(list.problems ?? []),
      !prompts.length && h("p.empty", nothing(words, all.prompts.length === 0)),
      rows(prompts.slice(0, limit), !words),
      prompts.length > limit && button(".quiet.more", `Show all ${thousands(prompts.length)}`, showAll),
    ),
  );
  return { title: words ? `Search for ${words}` : "Prompts", main: main(content), all, limit };
}

function nothing(words, isEmpty) {
  if (isEmpty) return ["There are no prompts yet. ", h("code", "prompt-expander new NAME --edit"), " makes one; it appears here by itself."];
  if (words) return ["No prompt matches ", h("code", bdi(words)), ". Spelling mistakes are tolerated; try other words."];
  return "No prompts match.";
}

/** The rows of prompts, below a heading for each layer if there are several. */
function rows(prompts, isByLayer) {
  const list = (some) => h("ul.rows", some.map(row));
  const layers = Map.groupBy(prompts, ({ layer }) => layer);
  if (!isByLayer || layers.size < 2) return list(prompts);
  return [...layers].map(([layer, some]) => h("section.layer", h("h2", layer), list(some)));
}

function row({ name, title, description, layer, pack, format, tags, arguments: declared = [] }) {
  const signature = declared.map((argument) => h("code", h("bdi", argument.required ? text(argument.name) : ["[", text(argument.name), "]"])));
  const facts = [tags.map((tag) => h("bdi", "#", text(bare(tag)))), layer !== "user" && h("span", pack ? `${layer} ${pack}` : layer), format && h("span", format)];
  const about = h(
    "div.about",
    title && !isSame(title, name) && h("strong.text", { dir: "auto" }, text(title)),
    description && h("div.description.text", { dir: "auto" }, text(description)),
    (tags.length > 0 || layer !== "user" || format) && h("div.facts", facts),
  );
  return h("li", h("a", { href: pathOf(name) }, h("div", command(name), signature.length > 0 && h("div.signature", signature)), about));
}

/**
 * The layers, folders and tags of the whole library, so that they stay where they are while somebody types. The numbers are those of
 * the prompts that match the search and the choices of other kinds, which `matching` gives.
 */
function filters(prompts, matching, chosen) {
  const values = {
    layer: ({ layer }) => [layer],
    folder: ({ name }) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index)),
    tag: ({ tags }) => tags.map(bare),
  };
  const counted = (kind, some) => {
    const numbers = new Map();
    for (const value of some.flatMap((prompt) => [...new Set(values[kind](prompt))])) numbers.set(value, (numbers.get(value) ?? 0) + 1);
    return numbers;
  };
  // Those at the top, the chosen one and those above it, and those directly in it.
  const isNear = (folder) => {
    const parent = folder.slice(0, Math.max(folder.lastIndexOf("/"), 0));
    return !parent || parent === chosen.folder || `${chosen.folder}/`.startsWith(`${folder}/`);
  };
  const order = {
    layer: ([one], [other]) => LAYERS.indexOf(one) - LAYERS.indexOf(other),
    folder: ([one], [other]) => inOrder(one, other),
    tag: ([one, number], [other, another]) => another - number || inOrder(one, other),
  };
  return ["Layer", "Folder", "Tag"].map((heading) => {
    const kind = heading.toLowerCase();
    const now = counted(kind, matching(kind));
    const all = [...counted(kind, prompts)].filter(([value]) => kind !== "folder" || isNear(value)).sort(order[kind]);
    return (kind !== "layer" || all.length > 1) && choice(heading, kind, all.map(([value]) => [value, now.get(value) ?? 0]), chosen);
  });
}

/** Choices of a kind, each with the number of its prompts. Choosing the current one again leaves it. */
function choice(heading, kind, values, chosen) {
  if (!values.length) return null;
  const isCurrent = (value) => Boolean(chosen[kind]) && isSame(bare(chosen[kind]), value);
  const items = values.map(([value, number]) => {
    const href = listAddress({ ...chosen, [kind]: isCurrent(value) ? "" : value });
    const attributes = { href, class: !number && "none", "aria-current": isCurrent(value) && "true" };
    return h("li", h("a", attributes, bdi(value), h("span", thousands(number))));
  });
  return h("section", h("h2", heading), h("ul", items));
}

function problems(all) {
  if (!all.length) return null;
  const items = all.map((one) => problem(one, placeInFile(one)));
  return h("details.problems#problems", h("summary", `${count(all.length, "problem")} in the files`), h("ul", items));
}

// A prompt

const LONGEST_LINK = 8000;

const backToPrompt = (name) => h("a.back", { href: pathOf(name) }, "← Back to the prompt");
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
  const known = () => given(Object.fromEntries(Object.entries(values).filter(([key]) => isKnown(key))));
  const explain = () => ask("POST", "/api/explain", { command: file.name, arguments: known() });
  const preview = await explain();
  let expansion = preview;

  /** The address of the prompt with the values; `null` if it would be too long for a link. */
  const link = () => {
    const url = `${location.origin}${pathOf(file.name)}?${new URLSearchParams(known())}`.replace(/\?$/, "");
    return url.length > LONGEST_LINK ? null : url;
  };
  const putLink = debounced(400, () => history.replaceState(history.state, "", link() ?? location.pathname));
  const expand = async () => {
    const fresh = await load("part", explain);
    if (!fresh || !next.main.isConnected) return false;
    expansion = fresh;
    replaceKeeping(find("#result"), result());
    return true;
  };
  const expandSoon = debounced(120, () => next.main.isConnected && expand());
  const copyCommand = async () => {
    expandSoon.cancel();
    if (!(await expand())) return;
    const isWhole = !expansion.arguments.some(isMissing);
    if (expansion.typed) copy(expansion.typed, isWhole ? "Copied" : "Copied; write the missing values in place of …");
  };
  const copyText = async () => {
    expandSoon.cancel();
    if (!expansion.request && !(await expand())) return;
    const answer = expansion.text ?? find("#answer pre")?.textContent;
    if (answer == null) say("There is nothing to copy yet.");
    else copy(answer);
  };
  const copyLink = () => (link() ? copy(link()) : say("The values are too long for a link."));
  const result = () => {
    const notUsed = unknown.map((key) => `the prompt has no argument \`${key}\`; its value is not used`);
    const warnings = [...(expansion.warnings ?? []), ...notUsed].map((words) => problem({ severity: "warning", message: words }));
    const attributes = (onclick, isThere) => ({ type: "button", disabled: !isThere, onclick });
    return part(
      "result",
      "Command",
      [button(".quiet#copy-link", "Copy link", copyLink), h("button#copy-command", attributes(copyCommand, expansion.typed), "Copy command")],
      commandLine(expansion),
      problemList(warnings),
      bar(h("h2#expansion-heading", "Expansion"), h("button.quiet#copy", attributes(copyText, expansion.text), "Copy text")),
      outcome(expansion),
    );
  };
  const set = (key, value) => {
    values[key] = value;
    expandSoon();
    putLink();
  };
  const onsubmit = (event) => {
    event.preventDefault();
    expand();
  };
  const { title, description, layer, format } = preview;
  const lead = [title && h("strong", bdi(title)), title && description && " — ", description && bdi(description)];
  const warnings = (preview.problems ?? []).map((one) => problem(one, placeInFile(one)));
  const form = fields(declared, file.takes_input, values, set);
  const article = h(
    "article.prompt",
    h(
      "header",
      backToList(),
      titled(command(file.name), me.may_edit && layer !== "remote" && actions(file.name, layer === "user" && !format)),
      (title || description) && h("p.lead.text", { dir: "auto" }, lead),
      badges(preview),
    ),
    problemList(warnings, { role: "region", "aria-label": "Problems" }),
    h(
      "div.about-values",
      form.length ? h("form.form#form", { onsubmit }, form) : note("This prompt has no arguments: its text is always the same."),
      details(preview),
    ),
    result(),
    h("section.whole", h("details#source", h("summary", "Source"), paper("source-text", "Source", file, `show ${file.name}`))),
  );
  const next = { title: `:${file.name}`, main: main(article), values, copy: copyText };
  return next;
}

function badges({ name, layer, pack, format, tags, messages }) {
  const folder = name.slice(0, Math.max(name.lastIndexOf("/"), 0));
  const items = [
    layer && h("a", { href: listAddress({ layer }) }, layer),
    pack && h("bdi", pack),
    format && h("span", layer === "remote" ? `(${format})` : `for ${format}`),
    folder && h("a", { href: listAddress({ folder }) }, h("bdi", text(folder), "/")),
    ...tags.map((tag) => h("a", { href: listAddress({ tag }) }, h("bdi", "#", text(bare(tag))))),
    messages && h("span", `${messages.length} messages`),
  ];
  return h("ul.badges", items.filter(Boolean).map((item) => h("li", item)));
}

const isMissing = ({ from }) => from === "missing";

/** What to type in a chat for the expansion. */
function commandLine({ name, typed, arguments: values }) {
  if (!typed) return note("What is filled in cannot be typed as one command; copy the text instead.");
  const gaps = values.filter(isMissing).map((value) => {
    const words = `${value.name}=…`;
    const at = typed.indexOf(` ${words}`) + 1;
    return [at, at + words.length];
  });
  const line = paper("typed", "Command", { text: typed, gaps }, `show ${name}`);
  line.classList.add("short");
  return line;
}

/** The expansion, or its text as far as the values are known, and what is missing. */
function outcome(preview) {
  const { name, arguments: values, expansion, error, request, text: words, partial, marks, gaps } = preview;
  if (request) return requestTo(preview);
  if (words) {
    const { characters, tokens, limits } = expansion;
    return [
      paper("expansion", "Expansion", { text: words, marks }, `expand ${name}`),
      note(h("strong", thousands(characters)), ` character${characters === 1 ? "" : "s"}, about ${count(tokens, "token")}`),
      limitsOf(limits),
    ];
  }
  if (!error) return h("p.paper.note", { role: "status" }, "The text is empty.");
  const missing = values.filter(isMissing).map((value) => h("code", h("mark.missing", bdi(value.name))));
  const listed = missing.flatMap((each, at) => [at > 0 && (at + 1 === missing.length ? " and " : ", "), each]);
  return [
    !missing.length && problemList([problem({ severity: "error", message: error })], { role: "status" }),
    partial && paper("partial", "Expansion", { text: partial, marks, gaps }, `show ${name}`),
    missing.length > 0 && note("Fill in ", listed, " to complete the text."),
  ];
}

/** What a service would be asked, and a button that asks it: nothing but a click does. */
function requestTo({ name, arguments: values, request: { method, url, headers, body } }) {
  const sent = values.filter(({ from }) => from !== "default" && from !== "nothing").map((value) => [value.name, value.value]);
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\n`);
  const words = `${method} ${url}\n${lines.join("")}${body ? `\n${body}` : ""}`.trimEnd();
  const place = h("div#answer", { "aria-live": "polite" });
  const onclick = async ({ currentTarget }) => {
    currentTarget.disabled = true;
    const answer = await attempt(() => ask("POST", "/api/expand", { command: name, arguments: Object.fromEntries(sent) }));
    currentTarget.disabled = false;
    if (!answer || !place.isConnected) return;
    place.replaceChildren(paper("expansion", "Expansion", { text: answer.prompt }, `expand ${name}`));
    find("#copy").disabled = false;
  };
  return [
    note("A service renders this prompt. It would get this request:"),
    paper("request", "Request", { text: words }, `explain ${name}`),
    h("p", button("#ask", "Ask the service", onclick)),
    place,
  ];
}

/** Which agents would not show all of the expansion. */
function limitsOf(limits) {
  const exceeded = limits.filter((limit) => !limit.is_whole);
  if (!exceeded.length) return limits.length > 0 && note("Every agent shows all of it.");
  return exceeded.map(({ client, way, when_exceeded: what }) => note(h("strong", `Too long for ${client} (${way})`), `: ${what}.`));
}

/** Where the prompt comes from, and how to call it. */
function details({ source, includes = [], shadows, attachments = [], usage }) {
  const facts = [
    ...(usage ? [["Usage", usage]] : []),
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
      titled(command(name), me.may_edit && actions(name, true)),
      h("p.lead", "This file cannot be used as a prompt."),
    ),
    problemList([problem({ severity: "error", message: `${why}` })]),
    h("section.whole", h("h2", "Source"), paper("source-text", "Source", { text: file.text }, `show ${name}`)),
  );
  return { title: name, main: main(article) };
}

function unknownPage(name, why) {
  const then = [
    h("p", h("a", { href: listAddress({ query: name.replaceAll("/", " ") }) }, "Search for similar prompts")),
    me.may_edit && h("p", h("a", { href: `/new?${new URLSearchParams({ command: name })}` }, "Create ", command(name))),
    me.may_edit && h("p", h("a", { href: pathOf(name, "/history/") }, "Look for deleted versions")),
  ];
  return instead(name, "No such prompt", why, then);
}

async function copy(words, done = "Copied") {
  try {
    await navigator.clipboard.writeText(words);
    say(done, 2500);
  } catch {
    // Without TLS, a page of another machine has no clipboard.
    say("The browser does not allow it; select the text and copy it yourself.");
  }
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
function aboutOther({ other, revision }) {
  if (!other) return null;
  if (other === "project") return h("p.lead", "The project has a prompt of this name, which overrides what you save here.");
  return !revision && h("p.lead", "Saving makes a copy of your own.");
}

const alert = (...words) => h("p.alert", { role: "status", dir: "auto" }, words);

/** What `check` says of a text in the file `path`; `goTo` goes to a place in it. */
function checkedProblems(all, path, goTo) {
  if (!all.length) return note("No problems.");
  const errors = all.filter(({ severity }) => severity === "error").length;
  const place = ({ line, column }) => line && button(".place", `Line ${line}, column ${column}`, () => goTo(line, column));
  const items = all.map((one) => problem(one, one.file === path ? place(one) : placeInFile(one)));
  const counted = `${count(errors, "error")}, ${count(all.length - errors, "warning")}`;
  return [h("p.visually-hidden", { role: "status" }, counted), problemList(items)];
}

/** A field of the editor with its label, and with words about it. */
function labelled(label, aside, about, input, shown = input) {
  input.setAttribute("aria-describedby", `about-${input.id}`);
  return h("div.field", h("label", { for: input.id }, label, aside && h("small", aside)), h(`p#about-${input.id}`, about), shown);
}

/** Makes the lines behind the text of the editor, which wrap as it does: their style numbers them. */
function numberLines(lines, words) {
  const all = words.split("\n");
  for (const [at, line] of all.entries()) {
    const row = lines.children[at] ?? lines.appendChild(h("div"));
    if (row.textContent !== line) row.textContent = line;
  }
  while (lines.children.length > all.length) lines.lastChild.remove();
}

/** `name` is `null` for a new prompt. */
async function editorPage(name, proposed) {
  /** The file as it was opened, and as it is now. */
  let opened = name === null ? { file: "" } : await fileNow(name);
  if (!opened) return cannotShow("this prompt cannot be edited here");
  let now = opened;
  /** The text whose changes are shown. */
  let reviewed = null;
  /** What was written, while the text of somebody else is there instead. */
  let mine = null;
  const values = valuesOf([]);

  const checkSoon = debounced(150, () => check(false));
  const typing = { autocapitalize: "off", spellcheck: "false" };
  const lines = h("div.lines", { "aria-hidden": "true" });
  const scroll = () => (lines.scrollTop = area.scrollTop);
  const number = () => {
    numberLines(lines, area.value);
    scroll();
  };
  const onFile = () => {
    number();
    checkSoon();
  };
  const onName = () => {
    field.setCustomValidity("");
    checkSoon();
  };
  const area = h("textarea.code#file", { ...typing, oninput: onFile, onscroll: scroll, rows: 20, value: opened.file });
  const field = h("input#command", { ...typing, oninput: onName, required: true, autocomplete: "off", value: proposed });
  const noteField = h("input#note", { autocomplete: "off", maxlength: 500 });
  const target = () => name ?? field.value.trim();
  // A text area has LF for every line ending.
  const file = () => (opened.file.includes("\r\n") ? area.value.replaceAll("\n", "\r\n") : area.value);
  let saved = area.value;
  const isDirty = () => mine !== null || area.value !== saved || (name === null && field.value !== proposed);
  const write = (words) => {
    area.value = words;
    number();
    area.focus();
    return check(false);
  };
  /** Puts the file as it is now in place of what is written, which is kept. */
  const takeTheirs = () => {
    [mine, opened] = [area.value, now];
    const shown = write(now.file);
    saved = area.value;
    return shown;
  };
  const takeMine = () => {
    const words = mine;
    mine = null;
    return write(words);
  };
  const goTo = (line, column) => {
    const before = area.value.split("\n").slice(0, line - 1);
    const inLine = [...(area.value.split("\n")[line - 1] ?? "")].slice(0, column - 1).join("");
    const at = [...before, inLine].join("\n").length;
    area.focus({ preventScroll: true });
    area.setSelectionRange(at, at);
    lines.children[line - 1]?.scrollIntoView({ block: "center" });
    area.scrollTop = lines.scrollTop;
  };

  /** Shows what the server says of the text as it is now; `look` also at the file. */
  async function check(look) {
    checkSoon.cancel();
    const text = file();
    const answer = await load("part", async () => {
      const found = look && name !== null ? ((await fileNow(name)) ?? { file: "" }) : now;
      const body = { file: text, arguments: given(values), current: found.revision ? found.file : "" };
      const as = (command) =>
        ask("POST", "/api/check", { ...body, command }).catch((refused) => {
          if (refused.status !== 422) throw refused;
          return { refused: refused.message };
        });
      // A text can be tried before it has a name, and with one that it cannot have.
      const any = `${me.prefix ?? ""}new`;
      const checked = await as(target() || any);
      const isTried = checked.refused && name === null && target();
      return { found, checked: isTried ? { ...(await as(any)), refused: checked.refused } : checked };
    });
    if (!answer) return;
    now = answer.found;
    reviewed = text;
    field.setCustomValidity(answer.checked.refused ?? "");
    replaceSide(find("#side"), side(answer.checked));
  }

  function side({ refused, problems: wrong, path, arguments: declared, takes_input: takesInput, preview, changes }) {
    const set = (key, value) => {
      values[key] = value;
      checkSoon();
    };
    const isChanged = now.revision !== opened.revision;
    const isTheirs = isChanged && now.revision;
    const conflict = `this prompt was ${isTheirs ? "changed" : "deleted"} after you opened it; what you have written is not lost`;
    const notes = [
      isChanged && problemList([problem({ severity: "warning", message: conflict })], { role: "status" }),
      mine !== null && alert("This is the file as it is now. ", button(".quiet#mine", "Back to my text", takeMine)),
      refused && problemList([problem({ severity: "error", message: refused })], { role: "status" }),
      wrong && (name !== null || area.value) && checkedProblems(wrong, path, goTo),
    ];
    const saving = () => [
      h("h3", "What will be saved"),
      diff(changes, "Changes"),
      labelled("Note", "optional", "Why you changed it, for the history.", noteField),
      isTheirs
        ? bar(button("#theirs", "Take the changed text", takeTheirs), button(".quiet#save-over", "Save my text over it", save))
        : bar(button("#save", now.revision ? "Save" : "Create", save)),
    ];
    const changesOrNone = () => (changes.length || !now.revision ? saving() : note("There is nothing to save: the file has this text."));
    const tried = preview && [
      h("div.form#values", fields(declared, takesInput, values, set)),
      h("div#result", outcome(preview)),
      h("div#changes", refused ? note("With another name, this can be saved.") : changesOrNone()),
    ];
    return part("side", "Preview", null, h("div#notes", notes), tried);
  }

  /** Goes to the changes; from there, saves them. */
  async function reviewOrSave() {
    // A conflict may come up while the focus is where it would save.
    const saving = find("#theirs") ? ["save-over"] : ["save", "note"];
    if (saving.includes(document.activeElement.id)) return save();
    if (!form.reportValidity()) return;
    await check(true);
    (find("#theirs") ?? find("#save"))?.focus();
  }

  async function save() {
    if (!form.reportValidity()) return;
    // Nothing is saved unseen.
    if (reviewed !== file()) return check(true);
    const pressed = find("#save, #save-over");
    pressed.disabled = area.readOnly = true;
    const body = { file: reviewed, expected: now.revision, note: noteField.value || undefined };
    const answer = await attempt(() => ask(now.revision ? "PUT" : "POST", api(target()), body));
    pressed.disabled = area.readOnly = false;
    if (!answer) return check(true);
    [saved, proposed, mine] = [area.value, field.value, null];
    location.assign(pathOf(answer.command));
  }

  async function remove() {
    if (!confirm("Really delete this prompt?")) return;
    const answer = await attempt(() => ask("DELETE", api(name), { expected: opened.revision }));
    if (!answer) return;
    [area.value, mine] = [saved, null];
    location.assign(pathOf(name, "/history/"));
  }

  const onsubmit = (event) => {
    event.preventDefault();
    reviewOrSave();
  };
  const aboutName = ["What you will type after a colon, such as ", h("code", "standup"), " or ", h("code", "git/commit"), "."];
  const aboutFile = ["Markdown; ", h("code", "{{input}}"), " is replaced by what you type after the name."];
  const form = h(
    "form#editor",
    { onsubmit },
    h(
      "div.writing",
      name === null && labelled("Name", "required", aboutName, field),
      labelled("Text", null, aboutFile, area, h("div.editing", lines, area)),
      bar(
        h("button#review", "Review changes"),
        opened.revision && button(".quiet.remove#delete", "Delete", remove),
      ),
    ),
    part("side", "Preview"),
  );
  number();
  const toHistory = opened.revision && h("a.button", { href: pathOf(name, "/history/") }, "History");
  const back = name === null ? backToList() : backToPrompt(name);
  const header = h("header", back, titled(name === null ? "New prompt" : ["Edit ", command(name)], toHistory), aboutOther(opened));
  /** Shows that the file has changed. What is typed stays. */
  const update = async () => {
    if (isDirty()) return check(true);
    const fresh = name && (await attempt(() => fileNow(name)));
    if (fresh && fresh.revision !== opened.revision && !isDirty()) location.reload();
  };
  return {
    title: name === null ? "New prompt" : `Edit :${name}`,
    main: main(h("article.editor", header, form)),
    editor: { isDirty, update, shown: () => check(false), next: reviewOrSave },
  };
}

/** Replaces the parts that have changed. While the text is broken, its last expansion stays. */
function replaceSide(old, fresh) {
  const [before, now] = [old, fresh].map((side) => (id) => side.querySelector(`#${id}`));
  if (!before("result")) return replaceKeeping(old, fresh);
  old.classList.toggle("is-stale", !now("result"));
  for (const id of ["notes", "values", "result", "changes"]) {
    if (now(id) && !before(id).isEqualNode(now(id))) replaceKeeping(before(id), now(id));
  }
}

addEventListener("beforeunload", (event) => {
  if (page.editor?.isDirty()) event.preventDefault();
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
  const item = ({ revision: own, at: time, operation, author, note: why, current: isNow }) => {
    const isChosen = own === chosen && operation !== "delete";
    const when = `${time.replace("T", " ").slice(0, 19)} UTC`;
    const what = h("span", OPERATIONS[operation], author && [" by ", bdi(author)], isNow && ", current");
    const reason = why && h("span.text", { dir: "auto" }, "“", text(why), "”");
    const href = `${pathOf(name, "/history/")}?revision=${own}`;
    return h("li", h("a", { href, "aria-current": isChosen && "true" }, h("strong", h("time", { datetime: time }, when)), what, reason));
  };
  const restore = async () => {
    const body = { command: name, revision: chosen, expected: current?.revision };
    if (await attempt(() => ask("POST", "/api/restore", body))) location.assign(pathOf(name));
    else refresh();
  };
  const isCurrent = chosen === current?.revision;
  const shownVersion = () =>
    part(
      "side",
      isCurrent ? "The current version" : "An earlier version",
      !isCurrent && button("#restore", "Restore this version", restore),
      version.changes && [h("h3", "What restoring it changes"), diff(version.changes, "What restoring it changes")],
      h("h3", "Its text"),
      paper("version", "The text of this version", { text: version.file }, `diff ${name} ${chosen}`),
    );
  const article = h(
    "article.editor.history",
    h(
      "header",
      current ? backToPrompt(name) : backToList(),
      titled(["History of ", command(name)], current && h("a.button", { href: pathOf(name, "/edit/") }, "Edit")),
      !current && h("p.lead", "This prompt was deleted. You can restore it."),
    ),
    h("div.columns", h("ol.versions", versions.map(item)), version ? shownVersion() : h("p.empty", "There is no earlier version.")),
  );
  return { title: `History of :${name}`, main: main(article) };
}

// Edits of files

/** Shows this address as it is now. What is typed stays. */
async function refresh() {
  if (page.editor) return page.editor.update();
  page.all = null;
  const typed = JSON.stringify(page.values);
  const fresh = await load("page", () => pageAt(address(), page));
  if (!fresh) return;
  if (JSON.stringify(page.values) !== typed) return refresh();
  if (page.main.isEqualNode(fresh.main)) page.all = fresh.all;
  else show(fresh);
}

/** The stream of changes, which is open while the page is visible. */
let stream = null;

async function follow() {
  if (document.hidden || page.isWaiting) {
    stream?.abort();
    stream = null;
  }
  if (stream || document.hidden || page.isWaiting) return;
  stream = new AbortController();
  const { signal } = stream;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const response = await fetch("/mcp", listening(signal));
      if (response.ok) {
        failures = 0;
        // The first event, which says that the stream has begun, is also a reason: changes since the answer to this page are not reported.
        const events = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let next = await events.read(); !next.done; next = await events.read()) {
          if (next.value.includes("data:")) refresh();
        }
      }
    } catch {
      // The server is away, or the stream was ended here.
    }
    await new Promise((done) => setTimeout(done, Math.min(1000 * 2 ** failures, 30_000)));
  }
}

function listening(signal) {
  const version = "2026-07-28";
  const method = "subscriptions/listen";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "page", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  // The prompt of this page, which may be a broken file that is in no list.
  const name = /^\/(?:prompts|edit|history)\/(.*)/.exec(location.pathname)?.[1];
  if (name) notifications.resourceSubscriptions = [`prompt://${name}`];
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

document.addEventListener("visibilitychange", follow);

query.value = isList ? (new URL(location.href).searchParams.get("query") ?? "") : "";
const first = await load("page", () => pageAt(location.href, page));
if (first) show(first);
