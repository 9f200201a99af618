// What people do on the web page, in Chromium: `bash tests/browser/run`.
//
// Each page of each test fails it if the browser reports an error (a script that fails, anything that the policy for content forbids)
// or asks any other server for anything.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { resolve } from "node:path";
import { LIBRARY, PROBLEMS, serve } from "./program.js";

const require = createRequire(resolve("target/browser/package.json"));
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const SCREENSHOTS = resolve("target/browser/screenshots");
const WIDTHS = [390, 800, 1400];
const SCHEMES = ["light", "dark"];

/** The whole page: document, style and script, in bytes. */
const MOST_BYTES = 60 * 1024;
/** How long the first view of 10,000 prompts may take before this is an error, in milliseconds; the aim is a tenth. */
const MOST_MILLISECONDS = 10_000;

/** A name of the server that is not of this machine. */
const NAME = "prompts.example.com";

let browser;
before(async () => {
  // Chromium has no sandbox for the root user, as in a container; what it opens here is this program.
  const args = [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), `--host-resolver-rules=MAP ${NAME} 127.0.0.1`];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  mkdirSync(SCREENSHOTS, { recursive: true });
});
after(() => browser.close());

/** A page on a server; `work` gets it. The statuses of errors that are expected are in `statuses`. */
async function open(server, options, work) {
  const { statuses = [], ...context } = options;
  const opened = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...context });
  const problems = [];
  opened.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith("data:")) problems.push(`a request to ${url}`);
  });
  const page = await opened.newPage();
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (error) => problems.push(`${error}`));
  page.on("dialog", (dialog) => problems.push(`a dialog: ${dialog.message()}`));
  page.on("console", (message) => {
    const isExpected = statuses.some((status) => message.text().includes(`the server responded with a status of ${status}`));
    if (["error", "warning"].includes(message.type()) && !isExpected) problems.push(message.text());
  });
  try {
    await work(page, opened);
  } finally {
    await opened.close();
  }
  assert.deepEqual(problems, []);
}

const names = (page) => page.locator(".rows .command").allTextContents();
const text = (page) => page.locator("#expansion").evaluate((element) => element.textContent);
const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };
const copied = (page) => page.evaluate(() => navigator.clipboard.readText());

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

describe("a library", () => {
  let server;
  before(async () => (server = await serve(PROBLEMS)));
  after(() => server.stop());

  test("the search shows what matches while it is typed, and a link to it shows the same", async () => {
    await open(server, {}, async (page) => {
      await page.goto(server.url);
      assert.equal((await names(page)).length, 26);
      await page.keyboard.press("/");
      await page.keyboard.type("reserch");
      await eventually(async () => assert.equal((await names(page))[0], ":research"));
      await eventually(() => assert.equal(page.url(), `${server.url}?query=reserch`));
      assert.match(await page.locator(".count").textContent(), /^\d prompts?$/);
      assert.equal(await page.evaluate(() => document.activeElement.name), "query");
      await page.goto(page.url());
      assert.equal((await names(page))[0], ":research");
      assert.equal(await page.inputValue("[name=query]"), "reserch");
      await page.fill("[name=query]", "xyzzyplugh");
      await page.getByText("No prompt matches").waitFor();
      await page.focus("[name=query]");
      await page.keyboard.press("Escape");
      await eventually(async () => assert.equal((await names(page)).length, 26));
    });
  });

  test("with the keyboard alone, a prompt is found, opened and left again", async () => {
    await open(server, {}, async (page) => {
      await page.goto(server.url);
      await page.keyboard.press("/");
      await page.keyboard.type(":git");
      await eventually(async () => assert.equal((await names(page)).length, 4));
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      const focused = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return [document.activeElement.pathname, outlineStyle, outlineWidth];
      });
      assert.deepEqual(focused, ["/prompts/git/history/bisect", "solid", "2px"]);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: ":git/history/bisect" }).waitFor();
      assert.equal(page.url(), `${server.url}prompts/git/history/bisect`);
      await page.goBack();
      await eventually(async () => assert.equal((await names(page)).length, 4));
      assert.equal(await page.inputValue("[name=query]"), ":git");
    });
  });

  test("layers, folders and tags can be chosen, together and with a search", async () => {
    await open(server, {}, async (page) => {
      const choose = (kind, name) => page.locator("section", { hasText: kind }).getByRole("link", { name, exact: false }).first().click();
      await page.goto(server.url);
      await choose("Folder", "git");
      await eventually(async () => assert.equal((await names(page)).length, 4));
      await choose("Folder", "git/history");
      await eventually(async () => assert.deepEqual(await names(page), [":git/history/bisect"]));
      await choose("Folder", "git/history");
      await eventually(async () => assert.equal((await names(page)).length, 26));
      await choose("Tag", "writing");
      await eventually(async () => assert.equal((await names(page)).length, 7));
      await choose("Folder", "git");
      await eventually(async () => assert.deepEqual(await names(page), [":git/pull-request", ":git/release-notes"]));
      await page.fill("[name=query]", "release");
      await eventually(async () => assert.deepEqual(await names(page), [":git/release-notes"]));
      assert.equal(page.url(), `${server.url}?query=release&folder=git&tag=writing`);
      await page.goto(`${server.url}?layer=built-in`);
      await eventually(async () => assert.equal((await names(page)).length, 10));
    });
  });

  test("an expansion follows what is typed, and is what the command line prints", async () => {
    await open(server, clipboard, async (page) => {
      await page.goto(`${server.url}prompts/compare`);
      await page.getByText("Fill in options to see the expansion.").waitFor();
      await page.locator("#waiting .slot", { hasText: "{{options}}" }).first().waitFor();
      await page.getByLabel("options").fill("Rust or\nGo");
      await eventually(async () => assert.match(await text(page), /^Compare these options: Rust or\nGo\n/));
      await page.getByLabel("criteria").fill("<b>speed</b> & size");
      await page.getByLabel("depth").selectOption("full");
      const want = server.expand("compare", "--arg", "options=Rust or\nGo", "--arg", "criteria=<b>speed</b> & size", "--arg", "depth=full");
      await eventually(async () => assert.equal(await text(page), want));
      assert.deepEqual(await page.locator("#expansion .value").allTextContents(), ["Rust or\nGo", "<b>speed</b> & size"]);
      await page.getByText(`${want.length} characters`).waitFor();
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await eventually(async () => assert.equal(await copied(page), want));
      await page.getByText("Every agent shows all of it").click();
      assert.ok((await page.locator("#limits tbody tr").count()) >= 3);
    });
  });

  test("a link has the values, and shows them again", async () => {
    await open(server, clipboard, async (page) => {
      await page.goto(`${server.url}prompts/compare`);
      await page.getByLabel("options").fill("1 + 1 = 2 & é?");
      await page.getByRole("button", { name: "Copy link" }).click();
      await eventually(async () => assert.match(await copied(page), /^http:.*\?options=1\+%2B\+1\+%3D\+2\+%26\+%C3%A9%3F$/));
      const link = await copied(page);
      await eventually(() => assert.equal(page.url(), link));
      await page.goto(server.url);
      await page.goto(link);
      assert.equal(await page.inputValue("[name=options]"), "1 + 1 = 2 & é?");
      assert.match(await text(page), /^Compare these options: 1 \+ 1 = 2 & é\?\n/);
    });
  });

  test("a text that is too long for a link is expanded all the same", async () => {
    await open(server, clipboard, async (page) => {
      const long = "a long text, line by line\n".repeat(10_000);
      await page.goto(`${server.url}prompts/research`);
      await page.locator("#input").evaluate((field, long) => {
        field.value = long;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }, long);
      await eventually(async () => assert.equal((await text(page)).endsWith(long), true));
      await page.getByText("Too long for").first().waitFor();
      await page.getByRole("button", { name: "Copy link" }).click();
      await page.getByText("too long for a link").waitFor();
      assert.equal(page.url(), `${server.url}prompts/research`);
      await page.locator("#input").focus();
      await page.keyboard.press("Control+Enter");
      await eventually(async () => assert.equal((await copied(page)) === (await text(page)), true));
    });
  });

  test("problems say what to do, and a broken file is shown", async () => {
    await open(server, { statuses: [404] }, async (page) => {
      await page.goto(server.url);
      await page.getByText("1 problem in the files").click();
      await page.locator("#problems li", { hasText: "broken.md:1:1" }).waitFor();
      await page.goto(`${server.url}prompts/ops/deploy?service=api`);
      await page.locator(".problems li", { hasText: "evironment" }).waitFor();
      await page.goto(`${server.url}prompts/broken`);
      await page.getByText("cannot be used as a prompt").waitFor();
      assert.equal(await page.locator("#source-text").evaluate((element) => element.textContent), PROBLEMS["broken.md"]);
      await page.goto(`${server.url}prompts/reserch`);
      await page.getByText("No such prompt").waitFor();
      await page.getByRole("link", { name: ":research" }).click();
      await page.getByRole("heading", { name: ":research" }).waitFor();
    });
  });

  test("without a script, the page is read, searched and filled in", async () => {
    await open(server, { javaScriptEnabled: false }, async (page) => {
      await page.goto(server.url);
      await page.getByRole("searchbox").fill("release");
      await page.getByRole("searchbox").press("Enter");
      assert.equal((await names(page))[0], ":git/release-notes");
      await page.goto(`${server.url}?tag=git`);
      await page.getByRole("searchbox").fill("plan");
      await page.getByRole("searchbox").press("Enter");
      assert.deepEqual(await names(page), [":git/history/bisect"]);
      await page.getByRole("link", { name: ":git/history/bisect" }).click();
      await page.locator("#input").fill("a\nb");
      await page.getByRole("button", { name: "Expand" }).click();
      assert.equal(await text(page), server.expand("git/history/bisect", "a\nb"));
      assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 0);
    });
  });

  test("nothing moves while the page is loaded and its text is replaced", async () => {
    await open(server, {}, async (page) => {
      await page.addInitScript(() => {
        window.shifts = [];
        new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((entry) => entry.value))).observe({
          type: "layout-shift",
          buffered: true,
        });
      });
      for (const path of ["", "prompts/compare", "prompts/research?input=a"]) {
        await page.goto(server.url + path);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        assert.deepEqual(await page.evaluate(() => window.shifts), [], path);
      }
    });
  });

  test("the whole page is small", async () => {
    const urls = ["?query=xyzzyplugh", "page.css", "page.js"].map((path) => server.url + path);
    const answers = await Promise.all(urls.map(async (url) => (await fetch(url)).arrayBuffer()));
    const bytes = answers.reduce((sum, answer) => sum + answer.byteLength, 0);
    console.log(`the page without prompts: ${bytes} bytes`);
    assert.ok(bytes < MOST_BYTES, `${bytes}`);
  });

  test("axe finds no violation, light and dark, wide and narrow", async () => {
    const paths = [
      "",
      "?query=git&tag=git",
      "?query=xyzzyplugh",
      "prompts/compare",
      "prompts/compare?options=a",
      "prompts/research?input=a",
      "prompts/ops/deploy?service=a",
      "prompts/broken",
      "prompts/xyzzyplugh",
    ];
    let checked = 0;
    for (const colorScheme of SCHEMES) {
      for (const width of [390, 1400]) {
        await open(server, { colorScheme, bypassCSP: true, viewport: { width, height: 900 }, statuses: [404] }, async (page) => {
          for (const path of paths) {
            await page.goto(server.url + path);
            for (const summary of await page.locator("main summary").all()) await summary.click();
            checked += await violations(page, `${path} ${colorScheme} ${width}`);
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(overflow <= 0, `${path} is ${overflow} px wider than ${width}`);
          }
        });
      }
    }
    console.log(`axe-core ${axe.version}: ${checked} checks passed, no violation`);
  });

  test("it is drawn at each width in each scheme", async () => {
    const pages = {
      list: "",
      search: "?query=wri",
      prompt: "prompts/compare?options=Rust+or+Go&criteria=speed%2C+size",
      start: "prompts/compare",
      problems: "prompts/ops/deploy?service=api",
    };
    for (const colorScheme of SCHEMES) {
      for (const width of WIDTHS) {
        await open(server, { colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } }, async (page) => {
          for (const [name, path] of Object.entries(pages)) {
            await page.goto(server.url + path);
            await page.screenshot({ path: `${SCREENSHOTS}/${name}-${width}-${colorScheme}.png` });
          }
        });
      }
    }
  });
});

/** Fails if axe finds a violation of WCAG 2.2 AA or a best practice; gives the number of checks that passed. */
async function violations(page, where) {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => window.axe.run());
  const found = violations.map(
    ({ id, nodes }) => `${where}: ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`,
  );
  assert.deepEqual(found, []);
  return passes.length;
}

test("the page follows edits of files, and leaves what is typed as it is", async () => {
  const server = await serve({ "a.md": "First: {{input}}", "b.md": "Second" }, { options: ["--no-builtin"] });
  try {
    await open(server, { statuses: [404] }, async (page) => {
      const listening = () => page.waitForResponse((response) => response.url().endsWith("/mcp"));
      let followed = listening();
      await page.goto(server.url);
      await followed;
      server.write("c/d.md", "---\ntitle: A new one\n---\nThird");
      await page.getByText("A new one").waitFor();
      assert.deepEqual(await names(page), [":a", ":b", ":c/d"]);
      server.remove("b.md");
      await eventually(async () => assert.deepEqual(await names(page), [":a", ":c/d"]));
      server.write("broken.md", "---\ntitle: never closed\n");
      await page.getByText("1 problem in the files").waitFor();

      await page.locator(`.rows a[href="/prompts/a"]`).click();
      await page.locator("#input").fill("my text");
      await eventually(async () => assert.equal(await text(page), "First: my text"));
      await page.locator("#input").evaluate((field) => field.setSelectionRange(3, 5));
      server.write("a.md", "---\narguments: [more]\n---\nEdited: {{input}} {{more}}");
      await eventually(async () => assert.equal(await text(page), "Edited: my text "));
      const focused = await page.evaluate(() => [
        document.activeElement.id,
        document.activeElement.selectionStart,
        document.activeElement.selectionEnd,
      ]);
      assert.deepEqual(focused, ["input", 3, 5]);
      assert.equal(await page.inputValue("#input"), "my text");
      await page.getByLabel("more").waitFor();
      server.remove("a.md");
      await page.getByText("No such prompt").waitFor();
    });

    // In a hidden tab, the stream is closed; what happened meanwhile is shown when it is visible again.
    await open(server, {}, async (page) => {
      await page.goto(server.url);
      await page.locator(`.rows a[href="/prompts/c/d"]`).waitFor();
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
      await page.locator(`.rows a[href="/prompts/e"]`).waitFor();
    });
  } finally {
    await server.stop();
  }
});

test("under another name of the server, and without TLS, everything works, too", async () => {
  const server = await serve(LIBRARY, { options: ["--allow-host", NAME] });
  const named = { url: server.url.replace("127.0.0.1", NAME) };
  try {
    await open(named, {}, async (page) => {
      const followed = page.waitForResponse((response) => response.url().endsWith("/mcp"));
      await page.goto(`${named.url}prompts/research`);
      assert.equal((await followed).status(), 200);
      assert.equal(await page.evaluate(() => isSecureContext), false);
      await page.locator("#input").fill("a\nb");
      await eventually(async () => assert.equal(await text(page), server.expand("research", "a\nb")));
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await page.locator("#toast", { hasText: "Copied" }).waitFor();
      await page.locator("#input").fill("");
      await page.locator("#input").press("Control+V");
      await eventually(async () => assert.equal(await page.inputValue("#input"), server.expand("research", "a\nb")));
    });
  } finally {
    await server.stop();
  }
});

const ANA = "the-token-of-ana-who-sees-everything";
const TEAM = "the-token-of-the-team-that-writes";

test("a token is asked for, is kept in memory only, and decides what is seen", async () => {
  const server = await serve(LIBRARY, { tokens: `${ANA} name=ana role=admin\n${TEAM} name=team prefix=writing/\n` });
  const log = (page, token) =>
    page
      .getByLabel("Token")
      .fill(token)
      .then(() => page.getByRole("button", { name: "Show the prompts" }).click());
  try {
    await open(server, { bypassCSP: true, statuses: [401] }, async (page, context) => {
      await page.goto(`${server.url}?tag=writing`);
      await violations(page, "token");
      assert.ok(!(await page.content()).includes("release-notes"));
      await log(page, "the-token-of-nobody");
      await page.getByRole("alert").getByText("This bearer token is wrong.").waitFor();
      await violations(page, "wrong token");
      assert.equal(await page.inputValue("input[type=password]"), "");
      await log(page, ANA);
      await eventually(async () => assert.equal((await names(page)).length, 7));
      await page.getByRole("link", { name: ":git/release-notes" }).click();
      await page.locator("#input").fill("everything");
      await eventually(async () => assert.equal(await text(page), server.expand("git/release-notes", "everything")));
      await page.goBack();
      await eventually(async () => assert.equal((await names(page)).length, 7));
      server.write("git/tag.md", "---\ntitle: Followed with a token\ntags: [writing]\n---\nx");
      await page.getByText("Followed with a token").waitFor();

      const stored = await page.evaluate(async () =>
        JSON.stringify([
          { ...localStorage },
          { ...sessionStorage },
          document.cookie,
          location.href,
          history.state,
          document.documentElement.outerHTML,
          (await indexedDB.databases()).length,
          (await caches.keys()).length,
        ]),
      );
      assert.ok(!stored.includes(ANA) && stored.startsWith('[{},{},"",'), stored.slice(0, 200));
      assert.deepEqual(await context.cookies(), []);
      await page.reload();
      await page.getByLabel("Token").waitFor();
      await log(page, TEAM);
      await eventually(async () => assert.deepEqual(await names(page), [":writing/edit", ":writing/summary", ":writing/translate"]));
      assert.ok(!(await page.content()).includes("meetings"));
    });
    for (const colorScheme of SCHEMES) {
      for (const width of WIDTHS) {
        await open(server, { colorScheme, viewport: { width, height: 844 }, statuses: [401] }, async (page) => {
          await page.goto(server.url);
          await page.screenshot({ path: `${SCREENSHOTS}/token-${width}-${colorScheme}.png` });
        });
      }
    }
  } finally {
    await server.stop();
  }
});

// Reverses what follows (RLO), closes an isolate that it did not open (PDI), and others.
const BIDI = "\u202e\u2069\u202c\u2067";
const SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>x</a>";

test("an argument may have the name of any property of a form", async () => {
  const properties = { "properties.md": "---\narguments: [id, isConnected, elements]\n---\n{{id}} {{isConnected}} {{elements}}" };
  const server = await serve(properties, { options: ["--no-builtin"] });
  try {
    await open(server, clipboard, async (page) => {
      await page.goto(`${server.url}prompts/properties`);
      for (const name of ["id", "isConnected", "elements"]) await page.locator(`[name=${name}]`).fill(name);
      await eventually(async () => assert.equal(await text(page), "id isConnected elements"));
      await page.keyboard.press("Control+Enter");
      await eventually(async () => assert.equal(await copied(page), "id isConnected elements"));
      await eventually(() => assert.equal(new URL(page.url()).search, "?id=id&isConnected=isConnected&elements=elements"));
    });
  } finally {
    await server.stop();
  }
});

test("a hostile library is text", async () => {
  const hostile = {
    "hostile.md": `---\ntitle: "${SCRIPT}"\ndescription: "</p></main>${SCRIPT}"\ntags: ["javascript:alert(4)", "\\"><script>alert(5)</script>"]\narguments:\n  - name: a\n    description: "${SCRIPT}"\n    default: "\\" onfocus=alert(6) autofocus=\\""\n---\n</pre></textarea>${SCRIPT} {{a}}\n&lt;b&gt; {{input}}`,
    "javascript:alert(7).md": SCRIPT,
    "<svg onload=alert(8)>.md": "{{input}}",
    "bidi.md": `---\ntitle: "before ${BIDI}abc"\ndescription: "desc ${BIDI}cba"\ntags: ["tag${BIDI}xyz"]\n---\nbody ${BIDI}abc\n{{input}}`,
    "controls.md": "\n\n  two\r\nlines\u001b[31m and \u202eanother\u2028",
    "עברית/العربية.md": "---\ntitle: שלום עולם\ndescription: مرحبا 123 (abc)\n---\nשלום {{input}} עולם",
  };
  const server = await serve(hostile, { options: ["--no-builtin"] });
  const withValue = `?a=${encodeURIComponent(`"></textarea>${SCRIPT}`)}&input=${encodeURIComponent(`${BIDI}${SCRIPT}`)}`;
  try {
    await open(server, clipboard, async (page) => {
      const isHarmless = async (where) => {
        const found = await page.evaluate(() => [
          document.querySelectorAll("main script, main img, main [onerror], main [onfocus], main [onload], main iframe").length,
          [...document.querySelectorAll("[href]")].filter((element) => /^\s*(javascript|data:text)/i.test(element.getAttribute("href")))
            .length,
          document.querySelectorAll("main").length,
        ]);
        assert.deepEqual(found, [0, 0, 1], where);
      };
      await page.goto(server.url);
      await isHarmless("the list");
      const paths = await page.locator(".rows a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      assert.equal(paths.length, Object.keys(hostile).length);
      for (const path of paths) {
        for (const query of ["", withValue]) {
          await page.goto(new URL(path, server.url).href + query);
          await isHarmless(path);
          if (await page.locator("#expansion").count()) {
            const name = decodeURIComponent(path.replace("/prompts/", ""));
            const values = new URLSearchParams(query);
            const call = [...values]
              .filter(([key]) => key === "input" || name === "hostile")
              .flatMap(([key, value]) => ["--arg", `${key}=${value}`]);
            const isTaken = !query || (await page.locator("#input").count());
            if (isTaken) assert.equal(await text(page), server.expand(name, ...call), path);
          }
        }
        await page.goto(server.url);
        await page.locator(`.rows a[href="${path}"]`).click();
        await page.locator("h1.visually-hidden, article h1").waitFor();
        await isHarmless(path);
      }

      // The characters are copied, but do not change the direction of anything outside of them.
      await page.goto(`${server.url}prompts/bidi?input=ok`);
      const body = server.expand("bidi", "ok");
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await eventually(async () => assert.equal(await copied(page), body));
      const isForward = (selector, word) =>
        page
          .locator(selector)
          .first()
          .evaluate((element, word) => {
            const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
            for (let node; (node = walker.nextNode());) {
              const at = node.data.indexOf(word);
              if (at < 0) continue;
              const left = (offset) => {
                const range = document.createRange();
                range.setStart(node, at + offset);
                range.setEnd(node, at + offset + 1);
                return range.getBoundingClientRect().left;
              };
              return [...word].every((_, offset) => offset === 0 || left(offset - 1) < left(offset));
            }
            return null;
          }, word);
      assert.equal(await isForward("#expansion", "abc"), true);
      assert.equal(await isForward("#expansion", "ok"), true);
      assert.equal(await isForward(".lead", "abc"), true);
      assert.equal(await isForward(".lead", "cba"), true);
      assert.equal(await isForward(".badges", "xyz"), true);
      assert.equal(await page.locator("#expansion .control").count(), BIDI.length);
      await page.goto(server.url);
      const row = `.rows a[href="/prompts/bidi"]`;
      for (const word of ["before", "abc", "cba", "xyz"]) assert.equal(await isForward(row, word), true, word);
      await page.screenshot({ path: `${SCREENSHOTS}/hostile-1400-light.png` });
    });
  } finally {
    await server.stop();
  }
});

test("10,000 prompts are shown at once, and scrolling stays smooth", async () => {
  const many = {};
  for (let number = 0; number < 10_000; number += 1) {
    const name = `area-${number % 50}/topic-${number % 7}/prompt-${String(number).padStart(5, "0")}.md`;
    many[name] =
      `---\ntitle: Prompt ${number}\ndescription: What to do about the matter with the number ${number}, in a sentence of usual length.\ntags: [tag-${number % 30}]\narguments: [a]\n---\nDo {{a}} with ${number}.\n`;
  }
  const server = await serve(many, { options: ["--no-builtin"] });
  const last = `:${Object.keys(many).sort().at(-1).replace(".md", "")}`;
  try {
    await open(server, {}, async (page) => {
      const view = async () => {
        const started = performance.now();
        await page.goto(server.url);
        await page.locator(".rows a").first().waitFor();
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        return performance.now() - started;
      };
      const [first, second] = [await view(), await view()];
      const searched = performance.now();
      await page.fill("[name=query]", "09999");
      await eventually(async () => assert.equal((await names(page)).length, 1));
      const search = performance.now() - searched;
      await page.goto(server.url);
      // Scrolls to the end of what is there, as the next rows come, and measures how long each frame takes.
      const { frames, rows } = await page.evaluate(async () => {
        const frames = [];
        let before = performance.now();
        while (document.querySelectorAll(".rows li").length < 4_000) {
          scrollBy(0, 400);
          await new Promise(requestAnimationFrame);
          frames.push(performance.now() - before);
          before = performance.now();
        }
        return { frames: frames.sort((a, b) => a - b), rows: document.querySelectorAll(".rows li").length };
      });
      const at = (share) => Math.round(frames[Math.floor((frames.length - 1) * share)]);
      console.log(`10,000 prompts: first view ${Math.round(first)} ms, then ${Math.round(second)} ms; search ${Math.round(search)} ms`);
      console.log(`scrolling ${rows} rows: ${frames.length} frames, median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms`);
      assert.ok(first < MOST_MILLISECONDS && second < MOST_MILLISECONDS && search < MOST_MILLISECONDS);
      assert.ok(at(0.95) < 500, `${at(0.95)}`);
      await page.goto(`${server.url}?from=9700`);
      await page
        .locator("a.more")
        .scrollIntoViewIfNeeded()
        .catch(() => {}); // it may be followed by itself before that
      await eventually(async () => assert.equal((await names(page)).length, 300));
      assert.equal((await names(page)).at(-1), last);
    });
  } finally {
    await server.stop();
  }
});

const WRITER = "the-token-of-somebody-who-writes";
const TOKENS = `${WRITER} name=wanda role=write\n${ANA} name=ana\n`;

/** Opens a page with a token, which it keeps in memory: further addresses are visited with links. */
async function openAs(token, server, options, work) {
  await open(server, { statuses: [401], ...options }, async (page) => {
    await page.goto(server.url);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Show the prompts" }).click();
    await page.getByRole("heading", { name: "All prompts" }).waitFor();
    await work(page);
  });
}

/** Follows a link to an address, as within the page. */
async function visit(page, path) {
  await page.evaluate((path) => {
    const link = Object.assign(document.createElement("a"), { href: path });
    document.querySelector("main").append(link);
    link.click();
  }, path);
  await page.waitForURL(`**${path}`);
}

const source = (page) => page.inputValue("#file");
const heading = (page, name) => page.getByRole("heading", { name, exact: true }).waitFor();
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

test("a prompt is created, edited, restored and deleted", async () => {
  const server = await serve(LIBRARY, { tokens: TOKENS, options: ["--no-builtin"] });
  try {
    await openAs(WRITER, server, { statuses: [401, 404] }, async (page) => {
      await page.getByRole("link", { name: "New prompt" }).click();
      await heading(page, "New prompt");
      await page.getByLabel("Text", { exact: true }).fill("---\narguments: [who]\n---\nHello {{who}} {{woh}}.\n");
      await page.getByRole("button", { name: "Line 4, column 15" }).click();
      assert.deepEqual(
        await page.evaluate(() => [document.activeElement.id, document.activeElement.selectionStart]),
        ["file", "---\narguments: [who]\n---\nHello {{who}} ".length],
      );
      await page.getByLabel("who").fill("Ana");
      await eventually(async () => assert.equal(await text(page), "Hello Ana {{woh}}."));
      await page.getByLabel("Text", { exact: true }).fill("---\narguments: [who]\n---\nHello {{who}}.\n");
      await eventually(async () => assert.equal(await text(page), "Hello Ana."));
      await page.getByText("No problems.").waitFor();
      // While the text is broken, the last expansion stays, and what was typed.
      await page.getByLabel("Text", { exact: true }).fill("---\narguments: [who]\nHello");
      await page.locator("#notes", { hasText: "Error" }).waitFor();
      assert.deepEqual([await text(page), await page.getByLabel("who").inputValue()], ["Hello Ana.", "Ana"]);
      await page.getByLabel("Text", { exact: true }).fill("---\narguments: [who]\n---\nHello {{who}}.\n");

      await page.getByLabel("Name").fill("compare");
      await press(page, "Review changes");
      await page.getByText("There is already a prompt").waitFor();
      await page.getByLabel("Name").fill("greet/hello");
      await press(page, "Review changes");
      await page.locator(".diff ins", { hasText: "Hello {{who}}." }).waitFor();
      await page.getByLabel("Note").fill("a greeting");
      await press(page, "Create");
      await heading(page, ":greet/hello");
      assert.equal(server.expand("greet/hello", "Ana"), "Hello Ana.");

      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByLabel("Text", { exact: true }).fill((await source(page)).replace("Hello", "Good morning"));
      await press(page, "Review changes");
      await page.locator(".diff").waitFor();
      assert.deepEqual(
        [await page.locator(".diff del").allTextContents(), await page.locator(".diff ins").allTextContents()],
        [["Hello {{who}}.\n"], ["Good morning {{who}}.\n"]],
      );
      await press(page, "Save");
      await heading(page, ":greet/hello");
      assert.equal(server.expand("greet/hello", "Ana"), "Good morning Ana.");

      await page.getByRole("link", { name: "History" }).click();
      await page.getByText("What restoring it changes").waitFor();
      assert.deepEqual(await page.locator(".versions span").allTextContents(), [
        "Changed by wanda, current",
        "Created by wanda",
        "“a greeting”",
      ]);
      assert.deepEqual(await page.locator(".diff ins").allTextContents(), ["Hello {{who}}.\n"]);
      await press(page, "Restore this version");
      await heading(page, ":greet/hello");
      assert.equal(server.expand("greet/hello", "Ana"), "Hello Ana.");

      await page.getByRole("link", { name: "Edit" }).click();
      await press(page, "Delete");
      await press(page, "Really delete?");
      await page.getByText("This prompt was deleted. You can restore it.").waitFor();
      assert.throws(() => server.expand("greet/hello", "Ana"));
      await press(page, "Restore this version");
      await heading(page, ":greet/hello");
      assert.equal(server.expand("greet/hello", "Ana"), "Hello Ana.");
    });
  } finally {
    await server.stop();
  }
});

test("a file that others change meanwhile is not overwritten without a look, and nothing typed is lost", async () => {
  const lines = (...words) => words.map((word) => `${word}\n\n`).join("");
  const server = await serve({ "a.md": lines("One", "Two", "Three") }, { tokens: TOKENS, options: ["--no-builtin"] });
  try {
    await openAs(WRITER, server, { statuses: [401, 409] }, async (page) => {
      await visit(page, "/edit/a");
      await page.getByLabel("Text", { exact: true }).fill(lines("One, mine", "Two", "Three"));
      await press(page, "Review changes");
      await page.getByRole("button", { name: "Save", exact: true }).waitFor();
      server.write("a.md", lines("One", "Two", "Three, theirs"));
      // It is shown without being asked for, and both can be had.
      await page.getByText("This prompt was changed after you opened it.").waitFor();
      assert.equal(await source(page), lines("One, mine", "Two", "Three"));
      await page.locator(".diff").first().locator("ins", { hasText: "Three, theirs" }).waitFor();
      await press(page, "Add theirs to my text");
      await eventually(async () => assert.equal(await source(page), lines("One, mine", "Two", "Three, theirs")));
      await press(page, "Save");
      await heading(page, ":a");
      assert.equal(server.read("a.md"), lines("One, mine", "Two", "Three, theirs"));

      // Changes of the same line: what is saved is decided after a look.
      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByLabel("Text", { exact: true }).fill("Mine\n");
      server.write("a.md", "Theirs\n");
      await page.getByText("This prompt was changed after you opened it.").waitFor();
      await press(page, "Review changes");
      await page.getByText("You and they have changed the same lines.").waitFor();
      assert.equal(server.read("a.md"), "Theirs\n");
      await press(page, "Save my text over it");
      await heading(page, ":a");
      assert.equal(server.read("a.md"), "Mine\n");
      await page.getByRole("link", { name: "History" }).click();
      await page.locator("#version", { hasText: "Theirs" }).waitFor();

      // Left and found again.
      await visit(page, "/edit/a");
      await page.getByLabel("Text", { exact: true }).fill("Not saved\n");
      await page.getByRole("link", { name: "Back to the prompt" }).click();
      await heading(page, ":a");
      await page.getByText("Your changes are kept in this tab").waitFor();
      await page.goBack();
      await eventually(async () => assert.equal(await source(page), "Not saved\n"));
      server.remove("a.md");
      await page.getByText("This prompt was deleted after you opened it.").waitFor();
      assert.equal(await source(page), "Not saved\n");
      await press(page, "Review changes");
      await press(page, "Create");
      await heading(page, ":a");
      assert.equal(server.read("a.md"), "Not saved\n");
    });
    // The browser asks before the tab is closed.
    await openAs(WRITER, server, {}, async (page) => {
      await visit(page, "/edit/a");
      page.removeAllListeners("dialog");
      const dialog = page.waitForEvent("dialog");
      await page.getByLabel("Text", { exact: true }).pressSequentially("x");
      const closed = page.close({ runBeforeUnload: true });
      const asked = await dialog;
      assert.equal(asked.type(), "beforeunload");
      await asked.accept();
      await closed;
    });
  } finally {
    await server.stop();
  }
});

test("line endings stay as they are in the file", async () => {
  const server = await serve({ "a.md": "One\r\nTwo\r\n" }, { tokens: TOKENS, options: ["--no-builtin"] });
  try {
    await openAs(WRITER, server, {}, async (page) => {
      await visit(page, "/edit/a");
      await page.getByLabel("Text", { exact: true }).fill("One\n2\n");
      await press(page, "Review changes");
      await page.locator(".diff").waitFor();
      assert.equal(await page.locator(".diff ins").count(), 1);
      await press(page, "Save");
      await heading(page, ":a");
      assert.equal(server.read("a.md"), "One\r\n2\r\n");
    });
  } finally {
    await server.stop();
  }
});

test("with the keyboard alone, a prompt is edited and saved", async () => {
  const server = await serve({ "a.md": "One\n" }, { tokens: TOKENS, options: ["--no-builtin"] });
  try {
    await openAs(WRITER, server, {}, async (page) => {
      const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);
      const tabTo = async (name) => {
        for (let presses = 0; (await focused()) !== name; presses += 1) {
          assert.ok(presses < 30, name);
          await page.keyboard.press("Tab");
        }
      };
      await visit(page, "/prompts/a");
      await heading(page, ":a");
      await tabTo("Edit");
      await page.keyboard.press("Enter");
      await heading(page, "Edit :a");
      for (let presses = 0; !(await page.evaluate(() => document.activeElement.id === "file")); presses += 1) {
        assert.ok(presses < 30);
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Two");
      await page.keyboard.press("Control+s");
      await heading(page, "Review changes");
      await eventually(async () => assert.equal(await focused(), "Review changes"));
      await tabTo("Save");
      await page.keyboard.press("Enter");
      await heading(page, ":a");
      assert.equal(server.read("a.md"), "One\nTwo");
    });
  } finally {
    await server.stop();
  }
});

test("those who may only read see no editor", async () => {
  const server = await serve(LIBRARY, { tokens: TOKENS });
  try {
    await openAs(ANA, server, { statuses: [401, 403] }, async (page) => {
      assert.equal(await page.getByRole("link", { name: "New prompt" }).count(), 0);
      await page.getByRole("link", { name: ":compare" }).click();
      await heading(page, ":compare");
      assert.equal(await page.getByRole("link", { name: /Edit|History/ }).count(), 0);
      await visit(page, "/edit/compare");
      await page.getByText("This needs a token with the role").waitFor();
      assert.equal(await page.locator("textarea").count(), 0);
      const url = new URL("api/prompts/compare", server.url);
      const headers = { "Content-Type": "application/json", Authorization: `Bearer ${ANA}` };
      for (const method of ["POST", "PUT", "DELETE"]) assert.equal((await fetch(url, { method, headers, body: "{}" })).status, 403);
    });
  } finally {
    await server.stop();
  }
});

test("axe finds no violation in the editor, and it is drawn at each width in each scheme", async () => {
  const server = await serve(PROBLEMS, { tokens: TOKENS });
  try {
    for (const colorScheme of SCHEMES) {
      for (const width of WIDTHS) {
        const viewport = { width, height: width === 390 ? 844 : 900 };
        await openAs(WRITER, server, { colorScheme, bypassCSP: true, viewport }, async (page) => {
          const check = async (name) => {
            await page.evaluate(() => scrollTo(0, 0));
            await violations(page, `${name} ${colorScheme} ${width}`);
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(overflow <= 0, `${name} is ${overflow} px wider than ${width}`);
            await page.screenshot({ path: `${SCREENSHOTS}/${name}-${width}-${colorScheme}.png`, fullPage: true });
          };
          const name = `drawn-${colorScheme}-${width}`;
          await visit(page, `/new?command=${name}`);
          await page.getByLabel("Text", { exact: true }).fill("---\ndescription: A text\n---\nOne {{input}}\n\n\n\nTwo {{tow}}\n");
          await page.locator("button.jump").waitFor();
          await check("new");
          await press(page, "Review changes");
          await page.getByRole("button", { name: "Create", exact: true }).waitFor();
          await check("review");
          await press(page, "Create");
          await heading(page, `:${name}`);
          await check("prompt-of-a-writer");
          await page.getByRole("link", { name: "Edit" }).click();
          await page.getByLabel("Text", { exact: true }).fill((await source(page)).replace("One", "First"));
          server.write(`${name}.md`, "---\ndescription: A text\n---\nOne {{input}}\n\n\n\nTwo, theirs\n");
          await page.getByText("This prompt was changed after you opened it.").waitFor();
          await press(page, "Review changes");
          await press(page, "Add theirs to my text");
          await page.getByRole("button", { name: "Save", exact: true }).waitFor();
          server.write(`${name}.md`, "---\ndescription: A text\n---\nFirst, theirs\n\n\n\nTwo, theirs\n");
          await page.getByText("You and they have changed the same lines.").waitFor();
          await check("conflict");
          await press(page, "Save my text over it");
          await heading(page, `:${name}`);
          await page.getByRole("link", { name: "History" }).click();
          await page.getByText("What restoring it changes").waitFor();
          await check("history");
          await visit(page, "/edit/compare");
          await heading(page, "Edit :compare");
          await check("edit");
        });
      }
    }
  } finally {
    await server.stop();
  }
});
