// Texts of prompts and messages as elements. Whatever prompts contain gets into the page as text, never as markup.

import { backToList, h, main } from "./dom.js";

// Characters that nobody sees, or that do anything but be shown, such as those that change the direction of what
// follows: the ones that `visible` of wording.rs shows.
// eslint-disable-next-line no-control-regex, no-misleading-character-class
const INVISIBLE = /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}])/gu;

/** What is shown for such a character, as on a terminal: `\u{202e}`. */
const code = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;

/** A text that somebody else wrote. Characters that act on other text are enclosed and named; none is removed. */
export function text(words) {
  // Every second piece is what the group of the expression matched.
  const pieces = words.split(INVISIBLE);
  return pieces.map((piece, index) => (index % 2 ? h("bdi.control", { "data-code": code(piece) }, piece) : piece));
}

/** A text for an attribute or a title, which have no elements: `\u{202e}` stands for the character. */
export const plain = (words) => words.replace(INVISIBLE, code);

/** A text of somebody else with a direction of its own. */
export const bdi = (words) => h("bdi", text(words));

/** A text in which ranges are marked: `marks` where values are, `gaps` where values are missing. */
function marked({ text: words, marks = [], gaps = [] }) {
  const ranges = marks.map(([start, end]) => ({ start, end, kind: "value" }));
  for (const [start, end] of gaps) ranges.push({ start, end, kind: "missing" });
  ranges.sort((one, other) => one.start - other.start);
  const pieces = [];
  let done = 0;
  for (const { start, end, kind } of ranges) {
    pieces.push(text(words.slice(done, start)), h(`mark.${kind}`, text(words.slice(start, end))));
    done = end;
  }
  return [pieces, text(words.slice(done))];
}

/** The longest text that a browser can well show, in UTF-16 units. */
const MAX_SHOWN = 1024 * 1024;

/** A text whose spaces and line endings count. `print` is the command that prints one that is too long. */
export function paper(id, label, shown, print) {
  if (shown.text.length > MAX_SHOWN) {
    const printing = h("code", bdi(`prompt-expander ${print}`));
    return h("p.paper.note", { role: "status" }, "This is too long for the page. ", printing, " prints it.");
  }
  return h(`pre.paper#${id}`, { tabindex: 0, role: "group", "aria-label": label }, marked(shown));
}

/** What changes from one text to another. */
export function diff(hunks, label) {
  const tags = { context: "span", delete: "del", insert: "ins" };
  const pieces = hunks.map(({ lines }, index) => [
    index > 0 && h("span.gap", { "aria-hidden": "true" }, "⋯\n"),
    lines.map(({ kind, text: line }) => h(tags[kind], text(line))),
  ]);
  return h("pre.paper.diff", { tabindex: 0, role: "group", "aria-label": label }, pieces);
}

/** A message of the program: what is in backticks as code. A message with backticks in its values is left as it is. */
function message(words) {
  const pieces = words.split("`");
  if (words.includes("``") || pieces.length % 2 === 0) return text(words);
  return pieces.map((piece, index) => (index % 2 ? h("code", bdi(piece)) : text(piece)));
}

/** A message, which begins in lower case and has no period, as a sentence. */
export function sentence(words) {
  const end = /[.?!]$/.test(words) ? "" : ".";
  return message(words.replace(/^./u, (first) => first.toUpperCase()) + end);
}

/** A page that says why something cannot be shown, with links to other pages. */
export function errorPage(title, heading, reason, ...links) {
  const paragraphs = [...links, backToList()].map((link) => h("p", link));
  const about = h("p.text", { dir: "auto" }, sentence(reason));
  return { title, main: main(h("div.alone", h("h1", heading), about, paragraphs)) };
}

export const error = (words) => ({ severity: "error", message: words });
export const warning = (words) => ({ severity: "warning", message: words });

/** A list of problems, or nothing if there are none. `placeOf` makes what says where a problem is. */
export function problemList(problems, attributes = {}, placeOf = placeInFile) {
  if (!problems.length) return null;
  return h("div.problems", attributes, problemItems(problems, placeOf));
}

export function problemItems(problems, placeOf = placeInFile) {
  const items = problems.map((problem) => {
    const { severity, message: what, repair } = problem;
    const words = sentence(`${severity}: ${repair ? `${what}; ${repair}` : what}`);
    const icon = h("span.icon", { "aria-hidden": "true" });
    return h(`li.${severity}`, icon, h("div", placeOf(problem), h("span.text", { dir: "auto" }, words)));
  });
  return h("ul", items);
}

/** Where a problem is in a file: `git/pr.md:4:15`. */
export function placeInFile({ file, line, column }) {
  return file && h("span.place", bdi(file), line ? `:${line}:${column}` : "");
}

export const thousands = (number) => number.toLocaleString("en");
export const count = (number, thing) => `${thousands(number)} ${thing}${number === 1 ? "" : "s"}`;

/** A tag without the `#` that some people write. */
export const bare = (tag) => tag.replace(/^#+/, "");

/** A name as it is typed in a chat, with its folders set apart. */
export function command(name) {
  const folders = name.split("/");
  const last = folders.pop();
  const parts = folders.map((folder) => h("span.folder", bdi(folder), "/"));
  return h("bdi.command", { dir: "ltr" }, h("span.colon", ":"), parts, bdi(last));
}

/** An address that ends in the name of a prompt. */
export const pathOf = (name, start = "/prompts/") => start + name.split("/").map(encodeURIComponent).join("/");

export const backToPrompt = (name) => h("a.back", { href: pathOf(name) }, "← Back to the prompt");

/** The address of the list with these choices. */
export function listAddress(choices) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value)).toString();
  return query ? `/?${query}` : "/";
}
