// The page of a prompt's versions, and of one of them, which can be restored.

import { api, ask, attempt } from "./api.js";
import { backToList, button, h, main, part, titled } from "./dom.js";
import { backToPrompt, bdi, command, diff, paper, pathOf, text } from "./text.js";

const OPERATIONS = {
  create: "Created",
  update: "Changed",
  delete: "Deleted",
  restore: "Restored",
  by_hand: "Changed by hand",
};

/** Returns the page with the version of this revision; if it is `null`, with the one before the current version. */
export async function historyPage(name, revision) {
  const { versions } = await ask("GET", api(name, "history"));
  const current = versions.find((version) => version.current);
  const chosen = revision ?? versions.find((version) => version.revision !== current?.revision)?.revision;
  const version = chosen && (await ask("GET", `${api(name, "history")}?${new URLSearchParams({ revision: chosen })}`));
  const edit = h("a.button", { href: pathOf(name, "/edit/") }, "Edit");
  const article = h(
    "article.editor.history",
    h(
      "header",
      current ? backToPrompt(name) : backToList(),
      titled(["History of ", command(name)], current && edit),
      !current && h("p.lead", "This prompt was deleted. You can restore it."),
    ),
    h(
      "div.columns",
      h("ol.versions", versions.map((each) => versionLink(name, each, chosen))),
      version ? versionText(name, version, chosen, current?.revision) : h("p.empty", "There is no earlier version."),
    ),
  );
  return { title: `History of :${name}`, main: main(article) };
}

/** A version in the list: when it was written, how, by whom and why. */
function versionLink(name, version, chosen) {
  const { revision, at, operation, author, note, current } = version;
  const isChosen = revision === chosen && operation !== "delete";
  const time = h("time", { datetime: at }, `${at.replace("T", " ").slice(0, 19)} UTC`);
  const what = h("span", OPERATIONS[operation], author && [" by ", bdi(author)], current && ", current");
  const reason = note && h("span.text", { dir: "auto" }, "“", text(note), "”");
  const attributes = { href: `${pathOf(name, "/history/")}?revision=${revision}`, "aria-current": isChosen && "true" };
  return h("li", h("a", attributes, h("strong", time), what, reason));
}

/** The text of a version, and what changes if it replaces the current one. */
function versionText(name, { file, changes }, revision, current) {
  const isCurrent = revision === current;
  const changed = "What restoring it changes";
  return part(
    "side",
    isCurrent ? "The current version" : "An earlier version",
    !isCurrent && button("#restore", "Restore this version", () => restore(name, revision, current)),
    changes && [h("h3", changed), diff(changes, changed)],
    h("h3", "Its text"),
    paper("version", "The text of this version", { text: file }, `diff ${name} ${revision}`),
  );
}

/** Makes an earlier version the current one, and goes to the prompt. */
async function restore(name, revision, current) {
  const body = { command: name, revision, expected: current };
  if (await attempt(() => ask("POST", "/api/restore", body))) location.assign(pathOf(name));
}
