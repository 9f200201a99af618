// What people do on the web page, in Chromium: `bash tests/browser/run`.
//
// Each page of each test fails it if the browser reports an error (a script that fails, anything that the policy for content forbids)
// or asks any other server for anything.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { resolve } from "node:path";
import { PROBLEMS, serve } from "./program.js";

const require = createRequire(resolve("target/browser/package.json"));
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const SCREENSHOTS = resolve("target/browser/screenshots");
const WRITER = "the-token-of-somebody-who-writes";
const READER = "the-token-of-somebody-who-reads";
const TOKENS = `${WRITER} name=wanda role=write\n${READER} name=rea prefix=writing/\n`;
const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };

let browser;
before(async () => {
  // Chromium has no sandbox for the root user, as in a container; what it opens here is this program.
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
  mkdirSync(SCREENSHOTS, { recursive: true });
});
after(() => browser.close());

/** A test on a server of its own with these files; `work` gets a page and the server. The statuses of expected errors are in `statuses`. */
function journey(name, files, { tokens, options, statuses = [], ...context }, work) {
  test(name, async () => {
    const server = await serve(files, { tokens, options });
    const opened = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...context });
    const problems = [];
    opened.on("request", (request) => request.url().startsWith(server.url) || problems.push(`a request to ${request.url()}`));
    opened.on("weberror", (error) => problems.push(`${error.error()}`));
    opened.on("dialog", async (dialog) => {
      if (dialog.type() === "alert") problems.push(`an alert: ${dialog.message()}`);
      await dialog.accept();
    });
    opened.on("console", (message) => {
      const isExpected = statuses.some((status) => message.text().includes(`a status of ${status}`));
      if (["error", "warning"].includes(message.type()) && !isExpected) problems.push(message.text());
    });
    try {
      const page = await opened.newPage();
      page.setDefaultTimeout(20_000);
      await work(page, server);
    } finally {
      await opened.close();
      await server.stop();
    }
    assert.deepEqual(problems, []);
  });
}

/** Waits until an expectation about the page holds. */
async function eventually(expectation) {
  const until = Date.now() + 20_000;
  for (;;) {
    try {
      return await expectation();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}

const names = (page) => page.locator(".rows .command").allTextContents();
const listed = (page, want) => eventually(async () => assert.deepEqual(await names(page), want));
const number = (page, want) => eventually(async () => assert.equal((await names(page)).length, want));
const text = (page) => page.locator("#expansion").evaluate((element) => element.textContent);
const expansion = (page, want) => eventually(async () => assert.equal(await text(page), want));
const copied = (page, want) => eventually(async () => assert.equal(await page.evaluate(() => navigator.clipboard.readText()), want));
const heading = (page, name) => page.getByRole("heading", { name, exact: true }).waitFor();
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const follow = (page, name) => page.getByRole("link", { name, exact: true }).click();
const file = (page) => page.getByLabel("Text", { exact: true });
const asked = (page, path) => page.waitForRequest((request) => request.url().includes(path));
const address = (page, server, want) => eventually(() => assert.equal(page.url(), server.url + want));

journey("a prompt is found by words, layer, folder and tag, with the keyboard alone too", PROBLEMS, { statuses: [404, 422] }, async (page, server) => {
  await page.goto(server.url);
  await number(page, 26);
  await page.keyboard.press("/");
  await page.keyboard.type("reserch");
  await eventually(async () => assert.equal((await names(page))[0], ":research"));
  await address(page, server, "?query=reserch");
  await page.reload();
  await eventually(async () => assert.equal((await names(page))[0], ":research"));
  assert.equal(await page.inputValue("[name=query]"), "reserch");
  await page.fill("[name=query]", "xyzzyplugh");
  await page.getByText("No prompt matches").waitFor();
  await page.fill("[name=query]", "release");
  await listed(page, [":git/release-notes"]);
  const counts = () => page.locator(".filters section", { hasText: "Folder" }).locator("a").allTextContents();
  await eventually(async () => assert.deepEqual(await counts(), ["git1", "meetings0", "ops0", "writing0"]));
  await page.fill("[name=query]", "");
  await number(page, 26);
  await eventually(async () => assert.deepEqual(await counts(), ["git4", "meetings2", "ops3", "writing3"]));
  // One's own come before those that are built in.
  const layers = await page.locator(".rows li").evaluateAll((rows) => rows.map((row) => row.textContent.includes("built-in")));
  assert.deepEqual(layers, layers.toSorted());
  assert.ok(layers.includes(true));

  const choose = (kind, name) => page.locator("section", { hasText: kind }).getByRole("link", { name, exact: false }).first().click();
  await choose("Folder", "git");
  await number(page, 4);
  await choose("Folder", "git/history");
  await listed(page, [":git/history/bisect"]);
  await choose("Folder", "git/history");
  await number(page, 26);
  await choose("Tag", "writing");
  await number(page, 7);
  await page.fill("[name=query]", "release");
  await listed(page, [":git/release-notes"]);
  await address(page, server, "?tag=writing&query=release");

  await page.goto(`${server.url}?query=:git`);
  await number(page, 4);
  await page.focus("[name=query]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await heading(page, ":git/history/bisect");
  await page.goBack();
  await number(page, 4);
  assert.equal(await page.inputValue("[name=query]"), ":git");

  await page.goto(`${server.url}prompts/broken`);
  await page.getByText("cannot be used as a prompt").waitFor();
  assert.equal(await page.locator("#source-text").textContent(), PROBLEMS["broken.md"]);
  await page.goto(`${server.url}prompts/reserch`);
  await heading(page, "No such prompt");
  await follow(page, "Search for similar prompts");
  await page.getByRole("link", { name: ":research" }).first().click();
  await heading(page, ":research");
  assert.equal((await page.goto(`${server.url}prompt/research`)).status(), 404);
  await heading(page, "There is no such page");
  await follow(page, "← All prompts");
  await number(page, 26);
});

journey("a prompt is filled in and copied as the command line prints it", PROBLEMS, clipboard, async (page, server) => {
  await page.goto(`${server.url}prompts/compare`);
  await page.getByText("Fill in options to complete the text.").waitFor();
  const marks = (kind) => page.locator(`#result mark.${kind}`).allTextContents();
  assert.deepEqual(await marks("missing"), ["{{options}}", "options"]);
  assert.deepEqual(await marks("value"), ["cost, risk, time", "brief"]);
  await press(page, "Copy command");
  await copied(page, ":compare options=…");
  await page.getByLabel("options").fill("Rust or\nGo");
  await page.getByLabel("criteria").fill("<b>speed</b> & size");
  await page.getByLabel("depth").selectOption("full");
  const want = server.expand("compare", "--arg", "options=Rust or\nGo", "--arg", "criteria=<b>speed</b> & size", "--arg", "depth=full");
  await expansion(page, want);
  await page.getByText(`${want.length} characters`).waitFor();
  assert.deepEqual(await marks("value"), ["Rust or\nGo", "<b>speed</b> & size", "full"]);
  await press(page, "Copy text");
  await copied(page, want);
  await press(page, "Copy command");
  const command = ':compare criteria="<b>speed</b> & size" depth=full Rust or\nGo';
  await copied(page, command);
  assert.equal(server.expand("compare", command.replace(":compare ", "")), want);
  await page.getByText("No agent cuts it.").waitFor();

  const long = "a long text, line by line\n".repeat(10_000);
  await page.goto(`${server.url}prompts/research`);
  // Typed by a browser's driver, it would take a minute.
  await page.getByLabel("input").evaluate((field, long) => {
    field.value = long;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, long);
  await eventually(async () => assert.ok((await text(page)).endsWith(long)));
  await page.getByText("Too long for").first().waitFor();
  assert.ok((await page.locator("#typed").textContent()).startsWith(":research a long text"));
  // Values that are too long for an address are not in it.
  await address(page, server, "prompts/research");
  await page.getByLabel("input").focus();
  await page.keyboard.press("Control+Enter");
  await copied(page, await text(page));
});

const PROPERTIES = { ...PROBLEMS, "properties.md": "---\narguments: [id, isConnected, elements]\n---\n{{id}} {{isConnected}} {{elements}}" };

journey("values are in the address, and an unknown one is named", PROPERTIES, clipboard, async (page, server) => {
  await page.goto(`${server.url}prompts/compare`);
  await page.getByLabel("options").fill("1 + 1 = 2 & é?");
  const link = "prompts/compare?options=1+%2B+1+%3D+2+%26+%C3%A9%3F";
  await address(page, server, link);
  await page.goto(server.url);
  await page.goto(server.url + link);
  await eventually(async () => assert.match(await text(page), /^Compare these options: 1 \+ 1 = 2 & é\?\n/));
  assert.equal(await page.inputValue("[name=options]"), "1 + 1 = 2 & é?");
  await page.goto(`${server.url}prompts/compare?options=a&brnach=x`);
  await page.locator("#result li.warning", { hasText: "the prompt has no argument brnach; its value is not used." }).waitFor();
  // What cannot be chosen is an error, and the text shows it all the same.
  await page.goto(`${server.url}prompts/compare?options=a&depth=long`);
  await page.locator("#result li.error", { hasText: "is not a choice for depth" }).waitFor();
  assert.deepEqual(await page.locator("#partial mark.value").allTextContents(), ["a", "cost, risk, time", "long"]);
  await page.goto(`${server.url}prompts/ops/deploy`);
  await page.locator("main > article > .problems li.warning", { hasText: "evironment" }).waitFor();
  // An argument may have the name of any property of a form.
  await page.goto(`${server.url}prompts/properties`);
  for (const name of ["id", "isConnected", "elements"]) await page.locator(`[name=${name}]`).fill(name);
  await expansion(page, "id isConnected elements");
  await address(page, server, "prompts/properties?id=id&isConnected=isConnected&elements=elements");
});

const EDITED = { "a.md": "One\n", "crlf.md": "One\r\nTwo\r\n" };
const writing = { tokens: TOKENS, options: ["--no-builtin"], statuses: [401, 404, 409, 422] };

journey("a prompt is written, edited and saved, and what others change meanwhile is seen first", EDITED, writing, async (page, server) => {
  await page.goto(`${server.url}new#token=${WRITER}`);
  await file(page).fill("---\narguments: [who]\n---\nHello {{who}} {{woh}}.\n");
  await press(page, "Line 4, column 15");
  const caret = () => page.evaluate(() => [document.activeElement.id, document.activeElement.selectionStart]);
  assert.deepEqual(await caret(), ["file", "---\narguments: [who]\n---\nHello {{who}} ".length]);
  await page.locator("#notes .warning .icon").waitFor();
  await page.getByLabel("who").fill("Ana");
  await expansion(page, "Hello Ana {{woh}}.");
  // While the text is broken, the last expansion stays, and what was typed.
  await file(page).fill("---\narguments: [who]\nHello");
  await page.locator("#notes", { hasText: "Error" }).waitFor();
  assert.deepEqual([await text(page), await page.getByLabel("who").inputValue()], ["Hello Ana {{woh}}.", "Ana"]);
  await file(page).fill("---\narguments: [who]\n---\nHello {{who}}.\n");
  // A name that no prompt can have, and one that another prompt has, are marked.
  const nameError = () => page.getByLabel("Name").evaluate((field) => field.validationMessage);
  await page.getByLabel("Name").fill("two words");
  await page.locator("#notes .error", { hasText: "a space ends a command" }).waitFor();
  assert.match(await nameError(), /a space ends a command/);
  await page.getByLabel("Name").fill("a");
  await press(page, "Review changes");
  await press(page, "Create");
  await page.locator("#notes .error", { hasText: "already a prompt named" }).waitFor();
  assert.match(await nameError(), /already a prompt named/);
  await page.getByLabel("Name").fill("greet/hello");
  await press(page, "Review changes");
  await page.locator(".diff ins", { hasText: "Hello {{who}}." }).waitFor();
  await page.getByLabel("Note").fill("a greeting");
  await press(page, "Create");
  await heading(page, ":greet/hello");
  assert.equal(server.expand("greet/hello", "Ana"), "Hello Ana.");

  // What others changed is saved over only after a look.
  await page.goto(`${server.url}edit/a`);
  await file(page).fill("Mine\n");
  await press(page, "Review changes");
  await page.getByRole("button", { name: "Save", exact: true }).waitFor();
  server.write("a.md", "Theirs\n");
  await page.getByText("This prompt was changed after you opened it").waitFor();
  assert.equal(await file(page).inputValue(), "Mine\n");
  // Both changes are shown against the text that was opened.
  await page.locator(".diff ins", { hasText: "Theirs" }).waitFor();
  await page.locator(".diff ins", { hasText: "Mine" }).waitFor();
  await page.getByText(/What was changed after you opened it, 20.* UTC/).waitFor();
  await page.keyboard.press("Control+s");
  assert.equal(server.read("a.md"), "Theirs\n");
  // The button that stands out keeps what the user has written.
  assert.equal(await page.locator("#changes button:not(.quiet)").textContent(), "Overwrite with mine");
  const question = page.waitForEvent("dialog");
  await press(page, "Use their text");
  assert.equal((await question).type(), "beforeunload");
  await eventually(async () => assert.equal(await file(page).inputValue(), "Theirs\n"));
  await file(page).fill("Mine\n");
  await page.locator(".diff del", { hasText: "Theirs" }).waitFor();
  server.write("a.md", "Theirs again\n");
  await page.locator(".diff ins", { hasText: "Theirs again" }).waitFor();
  await page.getByRole("button", { name: "Overwrite with mine" }).press("Control+s");
  await heading(page, ":a");
  assert.equal(server.read("a.md"), "Mine\n");

  await page.goto(`${server.url}edit/crlf`);
  await file(page).fill("One\n2\n");
  await press(page, "Review changes");
  await page.locator(".diff ins").waitFor();
  await press(page, "Save");
  await heading(page, ":crlf");
  assert.equal(server.read("crlf.md"), "One\r\n2\r\n");
});

journey("an earlier version is seen and restored, also of a deleted prompt", { "a.md": "First {{input}}\n" }, writing, async (page, server) => {
  await page.goto(`${server.url}edit/a#token=${WRITER}`);
  await file(page).fill("Second {{input}}\n");
  await press(page, "Review changes");
  await press(page, "Save");
  await heading(page, ":a");
  await follow(page, "History");
  await page.getByText("What restoring it changes").waitFor();
  assert.deepEqual(await page.locator(".versions span").allTextContents(), ["Changed by wanda, current", "Changed by hand"]);
  assert.deepEqual(await page.locator(".diff ins").allTextContents(), ["First {{input}}\n"]);
  await press(page, "Restore this version");
  await heading(page, ":a");
  assert.equal(server.expand("a", "x"), "First x");
  await follow(page, "Edit");
  await press(page, "Delete");
  await page.getByText("This prompt was deleted. You can restore it.").waitFor();
  assert.throws(() => server.read("a.md"));
  await press(page, "Restore this version");
  await heading(page, ":a");
  assert.equal(server.expand("a", "x"), "First x");
});

/** Keeps a token in this browser, while the answer to a request without a token is under way. */
async function keepToken(page, server) {
  let letItPass;
  const isStored = new Promise((done) => (letItPass = done));
  const delay = async (route) => {
    await isStored;
    await route.continue();
  };
  await page.route("**/api/me", delay, { times: 1 });
  await page.goto(server.url);
  await page.evaluate((kept) => localStorage.setItem("token", kept), WRITER);
  letItPass();
  await heading(page, "This server needs a token");
  assert.equal(await keptToken(page), WRITER);
}

const keptToken = (page) => page.evaluate(() => localStorage.getItem("token"));

/** Answers the next question of the page, and returns it. */
async function answerNext(page, isYes) {
  const dialog = await page.waitForEvent("dialog");
  if (isYes) await dialog.accept();
  else await dialog.dismiss();
  return dialog.message();
}

test("a link with another token asks before it replaces the one in use, also in an open tab, and never removes the kept one", async () => {
  const server = await serve(PROBLEMS, { tokens: TOKENS });
  const page = await browser.newPage();
  try {
    await keepToken(page, server);
    for (const [link, isYes] of [[READER, false], ["wrong", false], ["wrong", true]]) {
      const question = answerNext(page, isYes);
      await page.goto("about:blank");
      await page.goto(`${server.url}#token=${link}`);
      assert.match(await question, /different token/);
      await address(page, server, "");
      assert.equal(await keptToken(page), WRITER);
      if (isYes) await press(page, "Use the token that is kept in this browser");
      await number(page, 28);
    }
    const question = answerNext(page, true);
    await page.evaluate((link) => (location.hash = `token=${link}`), READER);
    assert.match(await question, /different token/);
    await address(page, server, "");
    await number(page, 3);
    assert.equal(await keptToken(page), WRITER);
    const same = page.goto(`${server.url}#token=${READER}`);
    await same;
    await address(page, server, "");
  } finally {
    await page.close();
    await server.stop();
  }
});

const NAMES = ["__proto__", "constructor", "toString"];
const STRANGE = { "odd.md": `---\narguments: [${NAMES.join(", ")}]\n---\n${NAMES.map((name) => `{{${name}}}`).join(" ")}\n` };

journey("no name of an argument and no broken address breaks the page", STRANGE, { options: ["--no-builtin"] }, async (page, server) => {
  await page.goto(`${server.url}prompts/odd`);
  for (const name of NAMES) await page.getByLabel(name).fill(`value of ${name}`);
  await expansion(page, NAMES.map((name) => `value of ${name}`).join(" "));
  await page.goto(`${server.url}prompts/odd?__proto__=a&constructor=b`);
  await expansion(page, "a b ");
  await page.goto(`${server.url}#token=%`);
  await heading(page, "All prompts");
  await address(page, server, "");
  await page.goto(`${server.url}prompts/%ff`);
  await heading(page, "There is no such page");
});

journey("a token is taken from the address or asked for, stays in the tab unless one chooses to keep it, and decides what is seen", PROBLEMS, writing, async (page, server) => {
  await page.goto(`${server.url}?tag=writing#token=${WRITER}`);
  await number(page, 7);
  await address(page, server, "?tag=writing");
  assert.ok(!(await page.content()).includes(WRITER));
  await page.reload();
  await number(page, 7);
  await page.getByRole("link", { name: "New prompt" }).waitFor();

  const other = await page.context().newPage();
  await other.goto(server.url);
  const log = async (token) => {
    await other.getByLabel("Token", { exact: true }).fill(token);
    await press(other, "Use this token");
  };
  await log("the-token-of-nobody");
  await other.getByRole("alert").getByText("This token is wrong").waitFor();
  await log(READER);
  await listed(other, [":writing/edit", ":writing/summary", ":writing/translate"]);
  assert.equal(await other.getByRole("link", { name: "New prompt" }).count(), 0);
  await other.goto(`${server.url}edit/writing/edit`);
  await heading(other, "Editing needs a token");
  await other.getByText("may only read prompts. Paste one with the role write.").waitFor();
  await log(WRITER);
  await heading(other, "Edit :writing/edit");
  await other.goto(server.url);
  await other.evaluate((token) => sessionStorage.setItem("token", token), READER);
  await other.reload();
  assert.deepEqual(await page.context().cookies(), []);
  const kept = (tab) => tab.evaluate(() => Object.values(localStorage));
  assert.deepEqual(await kept(other), []);
  await other.getByLabel("Keep the token in this browser").check();
  assert.deepEqual(await kept(other), [READER]);
  const third = await page.context().newPage();
  await third.goto(server.url);
  await number(third, 3);
  await third.getByLabel("Keep the token in this browser").uncheck();
  // In the same tab: the others see it a moment later.
  assert.deepEqual(await kept(third), []);
  await third.reload();
  await number(third, 3);
});

const NUMBERED = { "team10.md": "Ten", "team2.md": "Two", "b/x.md": "X", "a/y.md": "Y" };

journey("names are in the order in which people count", NUMBERED, { options: ["--no-builtin"] }, async (page, server) => {
  await page.goto(server.url);
  await listed(page, [":a/y", ":b/x", ":team2", ":team10"]);
});

journey("the page follows edits of files, and leaves what is typed as it is", { "a.md": "First: {{input}}", "b.md": "Second" }, { options: ["--no-builtin"], statuses: [404] }, async (page, server) => {
  const followed = page.waitForResponse((response) => response.url().endsWith("/mcp"));
  await page.goto(server.url);
  await followed;
  await listed(page, [":a", ":b"]);
  server.write("c/d.md", "---\ntitle: A new one\n---\nThird");
  await page.getByText("A new one").waitFor();
  server.remove("b.md");
  await listed(page, [":a", ":c/d"]);
  server.write("broken.md", "---\ntitle: never closed\n");
  await page.getByText("1 problem in the files").waitFor();

  await page.locator(`.rows a[href="/prompts/a"]`).click();
  await page.getByLabel("input").fill("my text");
  await expansion(page, "First: my text");
  await page.getByLabel("input").evaluate((field) => field.setSelectionRange(3, 5));
  server.write("a.md", "---\narguments: [more]\n---\nEdited: {{input}} {{more}}");
  await expansion(page, "Edited: my text ");
  const focused = await page.evaluate(() => [document.activeElement.id, document.activeElement.selectionStart, document.activeElement.selectionEnd]);
  assert.deepEqual(focused, ["input", 3, 5]);
  await page.getByLabel("more").waitFor();
  server.remove("a.md");
  await heading(page, "No such prompt");

  // In a hidden tab, the stream is closed; what happened meanwhile is shown when it is visible again.
  await page.goto(server.url);
  await listed(page, [":c/d"]);
  const hide = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/mcp"));
  await hide(true);
  await ended;
  server.write("e.md", "Fifth");
  await hide(false);
  await listed(page, [":c/d", ":e"]);
});

// Reverses what follows (RLO), closes an isolate that it did not open (PDI), and others.
const BIDI = "\u202e\u2069\u202c\u2067";
const SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>x</a>";
const HOSTILE = {
  "hostile.md": `---\ntitle: "${SCRIPT}"\ndescription: "</p></main>${SCRIPT}"\ntags: ["javascript:alert(4)", "\\"><script>alert(5)</script>"]\narguments:\n  - name: a\n    description: "${SCRIPT}"\n    default: "\\" onfocus=alert(6) autofocus=\\""\n---\n</pre></textarea>${SCRIPT} {{a}}\n&lt;b&gt; {{input}}`,
  "javascript:alert(7).md": SCRIPT,
  "<svg onload=alert(8)>.md": "{{input}}",
  "bidi.md": `---\ntitle: "before ${BIDI}abc"\ntags: ["tag${BIDI}xyz"]\n---\nbody ${BIDI}abc\n{{input}}`,
  "controls.md": "\n\n  two\r\nlines\u001b[31m and \u202eanother\u2028",
};

journey("a hostile library is text", HOSTILE, { options: ["--no-builtin"] }, async (page, server) => {
  const values = new URLSearchParams({ a: `"></textarea>${SCRIPT}`, input: `${BIDI}${SCRIPT}` });
  const isHarmless = async (where) => {
    const active = "main script, main img, main [onerror], main [onfocus], main [onload], main iframe, [href^=javascript]";
    assert.deepEqual(await page.evaluate((active) => [document.querySelectorAll(active).length, document.querySelectorAll("main").length], active), [0, 1], where);
  };
  await page.goto(server.url);
  await number(page, Object.keys(HOSTILE).length);
  await isHarmless("the list");
  for (const path of await page.locator(".rows a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))) {
    await page.goto(`${new URL(path, server.url).href}?${values}`);
    await page.locator("article h1").waitFor();
    await isHarmless(path);
    const name = decodeURIComponent(path.replace("/prompts/", ""));
    const taken = [...values].filter(([key]) => name === "hostile" || key === "input");
    const takesInput = await page.locator("#input").count();
    await expansion(page, server.expand(name, ...(takesInput ? taken.flatMap(([key, value]) => ["--arg", `${key}=${value}`]) : [])));
  }
  // Characters that change the direction are named, and change nothing outside of them.
  await page.goto(`${server.url}prompts/bidi?input=ok`);
  await page.locator("#expansion .control").first().waitFor();
  assert.equal(await page.locator("#expansion .control").count(), BIDI.length);
});

test("axe finds no violation, nothing is wider than the screen, and each page is drawn, light and dark, wide and narrow", async () => {
  const server = await serve(PROBLEMS, { tokens: TOKENS });
  const paths = ["", "?query=git&tag=git", "prompts/compare", "prompts/compare?options=a", "prompts/ops/deploy?service=a", "prompts/broken", "prompts/none", "nowhere"];
  const editing = ["new?command=x", "edit/compare", "history/compare"];
  try {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [390, 1400]) {
        const page = await browser.newPage({ colorScheme, bypassCSP: true, viewport: { width, height: 900 } });
        for (const path of ["#", ...paths, ...editing]) {
          await page.goto(server.url + path);
          await page.locator("main h1").waitFor();
          if (path === "#") await page.evaluate((token) => sessionStorage.setItem("token", token), WRITER);
          if (/^(edit|new)/.test(path)) await page.locator("#side #notes").waitFor({ state: "attached" });
          for (const summary of await page.locator("main summary").all()) await summary.click();
          await page.evaluate(axe.source);
          const { violations } = await page.evaluate(() => window.axe.run());
          const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`);
          const wider = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".filters")].filter((each) => each.scrollWidth > each.clientWidth).map((each) => `${each.localName}.${each.className}`));
          assert.deepEqual([found, wider], [[], []], `${path} ${colorScheme} ${width}`);
          await page.screenshot({ path: `${SCREENSHOTS}/${path.replace(/\W+/g, "-") || "list"}-${width}-${colorScheme}.png` });
        }
        await page.close();
      }
    }
  } finally {
    await server.stop();
  }
});
