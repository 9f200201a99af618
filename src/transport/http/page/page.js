// The page works without this script where no token is needed. With it, the same addresses are fetched, and `<main>` is replaced by that of
// the answer: the server renders everything, and prompts' text gets here only as HTML that it has escaped.

const search = document.querySelector("#search");
const toast = document.querySelector("#toast");
const query = search.elements.query;

/** Kept here only: it is gone when the page is. */
let token = "";
/** End the request for a page, and that for a part of this one, whose answer is no longer wanted. */
const loading = { page: new AbortController(), part: new AbortController() };
/** The list that was left for a prompt, to go back to at once. */
let list = null;
/** Whether something changed while this was not shown. */
let isStale = false;

const AWAY = "The server does not answer. What you see may be out of date.";

const find = (selector) => document.querySelector(selector);
const isList = (url) => new URL(url).pathname === "/";
/** Whether it is the form of the prompt. Its own `id` would be the field of an argument of this name, as would all its properties. */
const isValues = (form) => form != null && form === find("#form");
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

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
function say(text, milliseconds = 4000) {
  clearTimeout(hiding);
  toast.textContent = text;
  if (milliseconds) hiding = setTimeout(() => (toast.textContent = ""), milliseconds);
}

/** Asks the server; the answer may be one that asks for a token. */
async function ask(url, body, signal) {
  const headers = { Accept: "text/html" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const method = body ? "POST" : "GET";
  const init = { method, body, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" };
  const response = await fetch(url, init);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const isAllowed = !page.querySelector("#token");
  // What is on the page stays; another attempt may work.
  const isFailed = isAllowed && ([413, 429].includes(response.status) || response.status >= 500);
  if (isFailed || !page.querySelector("main")) throw new Failed(page.querySelector("main p")?.textContent ?? page.body.textContent);
  return { page, isAllowed };
}

class Failed extends Error {}

/** The same, unless another request for a page or a part begins before the answer is here; then there is none. */
async function load(url, body, what = "page") {
  loading[what].abort();
  loading[what] = new AbortController();
  const { signal } = loading[what];
  try {
    const answer = await ask(url, body, signal);
    return signal.aborted ? null : answer;
  } catch (error) {
    if (error instanceof Failed) say(error.message, 8000);
    else if (!signal.aborted) say(AWAY, 0);
    return null;
  }
}

function show(main, title) {
  const left = find("main");
  if (left !== main) keep(left);
  left.replaceWith(main);
  document.title = title;
  // For screen readers, which do not announce that `<main>` is replaced.
  find("#announcement").textContent = main.querySelector(".count, .alone h1")?.textContent ?? "";
  shown();
}

/** What is on the page has come from the server just now. */
function shown() {
  if (toast.textContent === AWAY) say("", 0);
  watchEnd();
  follow();
  const form = find("#editor");
  if (isDirty(form)) check(form);
}

/** What is at an address: an editor with unsaved changes, if it was left. */
async function open(url) {
  const path = new URL(url).pathname;
  const left = kept.get(path);
  if (left) {
    kept.delete(path);
    loading.page.abort();
    return left;
  }
  const answer = await load(url);
  return answer && { main: answer.page.querySelector("main"), title: answer.page.title };
}

/** Goes to another address. */
async function visit(url, { replace = false } = {}) {
  const from = location.href;
  const before = { url: from, main: find("main"), title: document.title, y: scrollY };
  const to = await open(url);
  if (!to) return;
  if (isList(from) && !isList(url)) list = before;
  if (replace) history.replaceState(null, "", url);
  else history.pushState({ from }, "", url);
  show(to.main, to.title);
  if (replace) return;
  scrollTo(0, 0);
  if (!isList(url)) query.value = "";
  find("main").focus({ preventScroll: true });
}

addEventListener("popstate", async () => {
  const url = location.href;
  if (list?.url === url) {
    const { main, title, y } = list;
    list = null;
    show(main, title);
    query.value = new URL(url).searchParams.get("query") ?? "";
    scrollTo(0, y);
    if (isStale) refresh();
    return;
  }
  const to = await open(url);
  if (to) show(to.main, to.title);
  query.value = isList(url) ? (new URL(url).searchParams.get("query") ?? "") : "";
});

addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  if (link.matches(".more")) more(link);
  else if (link.matches(".back") && link.pathname === "/" && list && history.state?.from === list.url) history.back();
  else visit(link.href);
});

// The search

const fields = (form) => new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));

const searchNow = debounced(90, () => {
  const words = fields(search).toString();
  visit(new URL(words ? `/?${words}` : "/", location).href, { replace: isList(location.href) });
});

search.addEventListener("input", searchNow);
search.addEventListener("submit", (event) => {
  event.preventDefault();
  searchNow();
});

const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing) return;
  if (key === "/" && !isTyping(target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    query.focus();
    query.select();
  } else if (key === "Escape" && target === query) {
    event.preventDefault();
    if (query.value === "") return query.blur();
    query.value = "";
    searchNow();
  } else if (key === "Enter" && (event.ctrlKey || event.metaKey) && isValues(target.form)) {
    event.preventDefault();
    copyExpansion();
  } else if (key === "s" && (event.ctrlKey || event.metaKey) && find("#editor")) {
    event.preventDefault();
    const button = find("#save");
    if (button) save(button);
    else review();
  } else if (key === "ArrowDown" || key === "ArrowUp") {
    const rows = [...document.querySelectorAll(".rows a")];
    const at = rows.indexOf(document.activeElement);
    if (!rows.length || (at < 0 && (target !== query || key === "ArrowUp"))) return;
    event.preventDefault();
    const next = key === "ArrowDown" ? rows[Math.min(at + 1, rows.length - 1)] : (rows[at - 1] ?? query);
    next.focus();
  }
});

// More rows, as the end of the list comes near

async function more(link) {
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  try {
    const { page } = await ask(link.href);
    if (!link.isConnected) return;
    find(".rows").append(...page.querySelectorAll(".rows li"));
    const next = page.querySelector("a.more");
    if (next) link.replaceWith(next);
    else link.remove();
    watchEnd();
  } catch {
    link.ariaBusy = null;
  }
}

const end = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => more(entry.target)), {
  rootMargin: "2000px",
});

function watchEnd() {
  end.disconnect();
  const link = find("a.more");
  if (link) end.observe(link);
}

// A prompt: its expansion, while values are typed, and copies

const LONGEST_LINK = 8000;

/** The address of the prompt with the values of the form; `null` if it would be too long for a link. */
function linkWithValues(form) {
  const values = fields(form).toString();
  const url = location.origin + location.pathname + (values && `?${values}`);
  return url.length > LONGEST_LINK ? null : url;
}

const putLink = debounced(400, (form) => {
  if (isValues(form)) history.replaceState(history.state, "", linkWithValues(form) ?? location.pathname);
});

const expand = debounced(120, async (form) => {
  if (!isValues(form)) return;
  const answer = await load(location.pathname, fields(form), "part");
  if (!isValues(form)) return;
  const result = answer?.page.querySelector("#result");
  if (result) replaceKeeping(find("#result"), result);
  else if (answer) show(answer.page.querySelector("main"), answer.page.title);
});

/** Replaces an element, but leaves what the user has opened, scrolled, focused and selected as it was. */
function replaceKeeping(old, fresh) {
  const opened = new Set([...old.querySelectorAll("details[id][open]")].map(({ id }) => id));
  const known = new Set([...old.querySelectorAll("details[id]")].map(({ id }) => id));
  const active = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll("[id]")].filter((element) => element.scrollTop);
  const at = scrolled.map((element) => [element.id, element.scrollTop]);
  const selection = active?.selectionStart == null ? null : [active.selectionStart, active.selectionEnd];
  const href = active?.getAttribute("href");
  for (const details of fresh.querySelectorAll("details[id]")) {
    if (known.has(details.id)) details.open = opened.has(details.id);
  }
  old.replaceWith(fresh);
  for (const [id, top] of at) {
    const element = document.getElementById(id);
    if (element) element.scrollTop = top;
  }
  if (!active) return;
  const same = active.id ? document.getElementById(active.id) : href && find(`main a[href="${CSS.escape(href)}"]`);
  (same || find("main")).focus({ preventScroll: true });
  if (same && selection) same.setSelectionRange(...selection);
}

// The editor

const isEditor = (form) => form != null && form === find("#editor");
const editorOf = (main) => main.querySelector("#editor");
const texts = (form) => [...form.querySelectorAll("#command, #file")];
const isDirty = (form) => form != null && texts(form).some((field) => field.value !== field.defaultValue);

/** What is left with unsaved changes, by its path, so that nothing typed is lost. */
const kept = new Map();

const pathOf = (form) => new URL(form.getAttribute("action"), location).pathname;

/** Keeps the page that is left, if it has unsaved changes. */
function keep(main) {
  values.clear();
  const form = editorOf(main);
  if (!isDirty(form)) return;
  kept.set(pathOf(form), { main, title: document.title });
  say("Your changes are kept in this tab until you save or discard them.", 6000);
}

addEventListener("beforeunload", (event) => {
  if (kept.size || isDirty(find("#editor"))) event.preventDefault();
});

/** What the form sends for a step, also its values for the preview, which the server does not repeat. */
function typed(form, step) {
  const sent = new URLSearchParams([...new FormData(form)]);
  if (step) sent.set("step", step);
  if (step) sent.set("base", find("#file").defaultValue);
  return sent;
}

/** Shows what the server says of the text as it is now. */
async function check(form, step) {
  checkSoon.cancel();
  if (!isEditor(form)) return false;
  const answer = await load(pathOf(form), typed(form, step), "part");
  if (!isEditor(form) || !answer) return false;
  const fresh = answer.page.querySelector("#side");
  if (fresh) showSide(find("#side"), fresh);
  else if (answer.isAllowed) say(answer.page.querySelector("main").textContent, 8000);
  // The page that asks for another token would replace the text.
  else say("The token is no longer accepted. Copy your text, and reload the page.", 0);
  return fresh != null;
}

const checkSoon = debounced(150, check);

/** Replaces the parts that have changed. While the text is broken, its last expansion stays. */
function showSide(old, fresh) {
  const part = (side, name) => side.querySelector(`#${name}`);
  keepFields(old, fresh);
  if (!part(old, "notes") || !part(fresh, "notes") || !part(old, "result")) return replaceKeeping(old, fresh);
  old.classList.toggle("is-stale", !part(fresh, "result"));
  for (const name of ["notes", "values", "result"]) {
    const [before, now] = [part(old, name), part(fresh, name)];
    if (now && !before.isEqualNode(now)) replaceKeeping(before, now);
  }
}

/** What was typed into the fields that are replaced. */
const values = new Map();

function keepFields(old, fresh) {
  for (const field of old.querySelectorAll("[name]")) values.set(field.name, field.value);
  for (const field of fresh.querySelectorAll("[name]")) {
    // As its content, the value would be a difference to the next answer.
    const value = values.get(field.name);
    if (value && field.type !== "submit") field.value = value;
  }
}

async function review() {
  const form = find("#editor");
  if (form.reportValidity() && (await check(form, "review"))) {
    find("#side-heading").focus({ preventScroll: true });
    find("#side").scrollIntoView({ block: "nearest" });
  }
}

/** Puts the cursor of the text at a line and a column, in characters. */
function jump({ line, column }) {
  const area = find("#file");
  const lines = area.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  area.setSelectionRange(at, at);
  // The browser scrolls to the cursor when the focus comes.
  area.blur();
  area.focus();
}

/** Sends a change; the answer is `null` if there is none. */
async function send(method, url, body) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const init = { method, headers, body: JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error" };
    const response = await fetch(url, init);
    const answer = await response.json();
    if (!response.ok) say(answer.error.message.split("\n")[0], 10_000);
    return { isDone: response.ok, status: response.status, answer };
  } catch {
    say("The server does not answer. Try again; nothing is saved twice.", 0);
    return { isDone: false, status: 0 };
  }
}

/** The id of what a button does: however often it is sent, it is done once. */
const operation = (button) =>
  (button.dataset.operation ??= [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));

/** Whether a button was pressed twice. */
function isSure(button, text) {
  if (button.dataset.sure) return true;
  const label = button.textContent;
  Object.assign(button.dataset, { sure: "yes" });
  button.textContent = text;
  setTimeout(() => {
    delete button.dataset.sure;
    button.textContent = label;
  }, 4000);
  return false;
}

async function save(button) {
  const form = find("#editor");
  const area = find("#file");
  if (button.ariaBusy) return;
  button.ariaBusy = "true";
  const file = form.elements.endings.value === "crlf" ? area.value.replaceAll("\n", "\r\n") : area.value;
  const { method, url, expected } = button.dataset;
  const note = find("#note").value || undefined;
  const saved = area.value;
  const { isDone, status, answer } = await send(method, url, { file, expected, note, operation_id: operation(button) });
  button.ariaBusy = null;
  if (!isDone) return void (status === 409 && check(form, "review"));
  if (area.value !== saved) {
    // It is a change of what was saved.
    area.defaultValue = saved;
    form.elements.expected.value = answer.revision;
    return say("Saved, without what you have typed since.");
  }
  const isHere = isEditor(form);
  leave(form);
  if (isHere) await visit(new URL(button.dataset.then, location).href);
  say("Saved");
}

/** Forgets the changes of an editor. */
function leave(form) {
  for (const field of texts(form)) field.defaultValue = field.value;
  kept.delete(pathOf(form));
  values.clear();
}

async function discard(button) {
  const form = find("#editor");
  if (isDirty(form) && !isSure(button, "Really discard?")) return;
  leave(form);
  const answer = await load(location.href);
  if (answer) show(answer.page.querySelector("main"), answer.page.title);
}

async function remove(button) {
  if (!isSure(button, "Really delete?")) return;
  const { url, expected, then } = button.dataset;
  const { isDone } = await send("DELETE", url, { expected, operation_id: operation(button) });
  if (!isDone) return;
  leave(find("#editor"));
  await visit(new URL(then, location).href);
  say("Deleted");
}

async function restore(button) {
  const { command, revision, expected, then } = button.dataset;
  const { isDone } = await send("POST", "/api/restore", { command, revision, expected, operation_id: operation(button) });
  if (!isDone) return refresh();
  await visit(new URL(then, location).href);
  say("Restored");
}

function addTheirs() {
  const area = find("#file");
  const merged = find("#merged").value;
  // The file as it is now is part of the text, which is as if it had been opened just now.
  area.defaultValue = find("#theirs").value;
  area.value = merged;
  find("#editor").elements.expected.value = find("#save").dataset.expected;
  check(find("#editor"), "review");
}

const ACTIONS = {
  save,
  discard,
  restore,
  delete: remove,
  both: addTheirs,
  back: () => check(find("#editor")).then(() => find("#file").focus()),
};

addEventListener("click", ({ target }) => {
  const button = target.closest("main button");
  if (!button) return;
  if (button.matches(".jump")) jump(button.dataset);
  ACTIONS[button.id]?.(button);
});

addEventListener("input", ({ target }) => {
  const form = target.form;
  if (isEditor(form)) return target.id === "note" ? undefined : checkSoon(form);
  if (!isValues(form)) return;
  expand(form);
  putLink(form);
});

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS, a page of another machine has no clipboard.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
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

/** Asks the service that renders a prompt, which nothing but a click does. */
async function askService(button) {
  button.disabled = true;
  const { isDone, answer } = await send("POST", "/api/expand", JSON.parse(button.dataset.call));
  button.disabled = false;
  if (!isDone || !button.isConnected) return;
  const text = document.createElement("pre");
  text.id = "expansion";
  text.className = "paper";
  text.tabIndex = 0;
  text.textContent = answer.prompt;
  find("#answer").replaceChildren(text);
  find("#copy").disabled = false;
}

/** The expansion of the values that are in the form now, as the server sent it: the text of the element, character by character. */
async function copyExpansion() {
  expand.cancel();
  const form = find("#form");
  if (form && !find("#request")) {
    const answer = await load(location.pathname, fields(form), "part");
    const result = answer?.page.querySelector("#result");
    if (!result || !isValues(form)) return;
    replaceKeeping(find("#result"), result);
  }
  const text = find("#expansion");
  if (text) copy(text.textContent, find("#copy"));
  else say("There is nothing to copy yet.");
}

addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.id === "copy") copyExpansion();
  if (button?.id === "ask") askService(button);
  if (button?.id === "copy-link") {
    const form = find("#form");
    const link = form ? linkWithValues(form) : location.href;
    if (link) copy(link, button);
    else say("The values are too long for a link.");
  }
});

addEventListener("submit", async (event) => {
  const form = event.target;
  if (isValues(form)) {
    event.preventDefault();
    expand(form);
  } else if (isEditor(form)) {
    event.preventDefault();
    const button = find("#save");
    if (button && document.activeElement === find("#note")) save(button);
    else review();
  } else if (form === find("#token")) {
    event.preventDefault();
    token = form.querySelector("input").value.trim();
    const answer = await load(location.href);
    if (!answer) return;
    if (!answer.isAllowed) token = "";
    show(answer.page.querySelector("main"), answer.page.title);
    (find("#token input") ?? find("main")).focus();
  }
});

// Edits of files

let isRefreshing = false;
let isRefreshWanted = false;

/** Shows this address as it is now. */
async function refresh() {
  isRefreshWanted = true;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isRefreshWanted) {
    isRefreshWanted = false;
    isStale = false;
    await refreshOnce();
  }
  isRefreshing = false;
}

async function refreshOnce() {
  const editor = find("#editor");
  // What is typed stays; the server says what has changed.
  if (isDirty(editor)) return void (await check(editor, find("#side").dataset.step));
  const form = find("#form");
  const [url, values] = [location.href, form && fields(form).toString()];
  const address = new URL(url);
  const rows = document.querySelectorAll(".rows li").length;
  if (rows) address.searchParams.set("count", rows);
  try {
    const { page, isAllowed } = await ask(address, form && new URLSearchParams(values));
    const hasMoved = location.href !== url || find("#form") !== form || (form && fields(form).toString() !== values);
    // What is typed meanwhile is answered with the files as they are then; only the rest of the page is old.
    if (isDirty(find("#editor"))) return void (isRefreshWanted = true);
    if (hasMoved) return void (isRefreshWanted = find("#form") !== null);
    const [old, fresh] = [find("main"), page.querySelector("main")];
    document.title = page.title;
    if (!old.isEqualNode(fresh)) replaceKeeping(old, fresh);
    if (list) isStale = true;
    if (!isAllowed) token = "";
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
  if (document.hidden || find("#token")) return stopFollowing();
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
        // The first event, which says that the stream has begun, is also a reason: changes since the page was rendered are not reported.
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
  };
  if (token) headers.Authorization = `Bearer ${token}`;
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

watchEnd();
follow();
