// Elements of the page. Whatever prompts contain gets there as text, never as markup.

/** An element: `h("p.note#id", { attribute: value }, children)`. A property that a script sets, such as `value` or `onclick`, is set. */
export function h(selector, ...rest) {
  const [, tag, more] = /^([\w-]+)(.*)$/.exec(selector);
  const element = document.createElement(tag);
  for (const [, kind, name] of more.matchAll(/([.#])([\w-]+)/g)) {
    if (kind === ".") element.classList.add(name);
    else element.id = name;
  }
  const hasAttributes = rest[0]?.constructor === Object;
  for (const [name, value] of Object.entries(hasAttributes ? rest[0] : {})) {
    if (value == null || value === false) continue;
    if (name === "value" || name.startsWith("on")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...rest.slice(hasAttributes ? 1 : 0).flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

// Characters that nobody sees, or that do anything but be shown, such as those that change the direction of what follows: those that
// `visible` of wording.rs shows.
// eslint-disable-next-line no-control-regex, no-misleading-character-class
const INVISIBLE = /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}])/u;

/** What is shown for such a character, as on a terminal. */
const code = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;

/** A text that somebody else wrote: what acts on other text is enclosed and named. The text stays the same, character by character. */
export function text(words) {
  return words.split(INVISIBLE).map((piece, at) => (at % 2 ? h("bdi.control", { "data-code": code(piece) }, piece) : piece));
}

/** The same for an attribute or a title, in which there can be no elements. */
export const plain = (words) => words.replace(new RegExp(INVISIBLE, "gu"), code);

/** A text of somebody with a direction of its own. */
export const bdi = (words) => h("bdi", text(words));

/** A text with parts that are marked: `marks` where values are, `gaps` where values are missing. */
export function marked({ text: words, marks = [], gaps = [] }) {
  let end = 0;
  const ranges = [...marks.map((range) => [range, "value"]), ...gaps.map((range) => [range, "missing"])];
  const pieces = ranges
    .sort(([one], [other]) => one[0] - other[0])
    .flatMap(([[from, to], kind]) => {
      const before = words.slice(end, from);
      end = to;
      return [...text(before), h(`mark.${kind}`, text(words.slice(from, to)))];
    });
  return [...pieces, ...text(words.slice(end))];
}

/** A message of the program: what is in backticks as code. One with backticks in its values is left as it is. */
export function message(words) {
  if (words.includes("``") || words.split("`").length % 2 === 0) return text(words);
  return words.split("`").map((piece, at) => (at % 2 ? h("code", bdi(piece)) : text(piece)));
}

/** A sentence of a message, which begins in lower case and has no period. */
export const sentence = (words) => words.replace(/^./u, (first) => first.toUpperCase()) + (/[.?!]$/.test(words) ? "" : ".");

export const thousands = (number) => number.toLocaleString("en");
export const count = (number, thing) => `${thousands(number)} ${thing}${number === 1 ? "" : "s"}`;

/** A name as it is typed in a chat, with its folders set apart. */
export function command(name) {
  const folders = name.split("/");
  const last = folders.pop();
  const parts = folders.map((folder) => h("span.folder", bdi(folder), "/"));
  return h("bdi.command", { dir: "ltr" }, h("span.colon", ":"), parts, bdi(last));
}

/** An address that ends in the name of a prompt. */
export const pathOf = (name, start = "/prompts/") => start + name.split("/").map(encodeURIComponent).join("/");

/** The address of the list with these choices. */
export function listAddress(choices) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value)).toString();
  return query ? `/?${query}` : "/";
}

/** The longest text that a browser can well show, in UTF-16 units. */
const MAX_SHOWN = 1024 * 1024;

/** A text whose spaces and line endings count; `print` is the command that prints one that is too long. */
export function paper(id, label, shown, print) {
  if (shown.text.length > MAX_SHOWN) {
    return h("p.paper.note", { role: "status" }, "This is too long for the page. ", h("code", bdi(`prompt-expander ${print}`)), " prints it.");
  }
  return h(`pre.paper#${id}`, { tabindex: 0, role: "group", "aria-label": label }, marked(shown));
}

/** What changes from one text to another. */
export function diff(hunks, label) {
  const tags = { context: "span", delete: "del", insert: "ins" };
  const pieces = hunks.map(({ lines }, at) => [
    at > 0 && h("span.gap", { "aria-hidden": "true" }, "⋯\n"),
    lines.map(({ kind, text: line }) => h(tags[kind], text(line))),
  ]);
  return h("pre.paper.diff", { tabindex: 0, role: "group", "aria-label": label }, pieces);
}

const ICONS = {
  error: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM5.5 5.5l5 5M10.5 5.5l-5 5",
  warning: "M8 2 14.5 13.5H1.5ZM8 6.5v3.2M8 11.4v.6",
  hint: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM8 7.3v4M8 4.6v.6",
};

/** The sign of an error, a warning or a hint, which the words next to it say, too. */
function icon(severity) {
  const make = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const svg = make("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" });
  svg.append(make("path", { d: ICONS[severity] }));
  return svg;
}

/** What is wrong, and what to do about it. `place` says where. */
export function problem({ severity, message: what, repair }, place) {
  const words = sentence(`${severity}: ${[what, repair].filter(Boolean).join("; ")}`);
  return h(`li.${severity}`, icon(severity), h("div", place, h("span.text", { dir: "auto" }, message(words))));
}

/** A list of problems, or nothing. */
export const problemList = (items, more = {}) => items.length > 0 && h("div.problems", more, h("ul", items));

/** Where a problem is in another file than the one that is shown. */
export const placeInFile = ({ file, line, column }) => h("span.place", bdi(file), line ? `:${line}:${column}` : "");

/** Says that something cannot be shown. */
export function failure(heading, what, ...then) {
  return h("div.alone", h("h1", heading), h("p.text", { dir: "auto" }, message(sentence(what))), then);
}

/** A sentence of the page about what it shows. */
export const note = (...words) => h("p.length.text", { role: "status", dir: "auto" }, words);

/** The values that are not empty: an empty one counts as not given, as everywhere. */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

/** A field for each value: `id` is unique, `set` is told what is typed. */
export function fields(declared, takesInput, values, set) {
  const field = ({ name, description, required, default: usual = "", choices = [], strict }, number) => {
    const [id, about, value] = [`argument-${number}`, `about-${number}`, values[name] ?? ""];
    const shared = { id, name, "aria-describedby": description && about, value, oninput: ({ target }) => set(name, target.value) };
    const free = { ...shared, placeholder: plain(usual), dir: "auto" };
    let input;
    if (strict && choices.length) {
      const all = value && !choices.includes(value) ? [...choices, value] : choices;
      const options = all.map((choice) => h("option", { value: choice }, plain(choice)));
      input = h("select", { ...shared, value: null }, h("option", { value: "" }, usual ? `${plain(usual)} (default)` : "–"), options);
      input.value = value;
    } else if (choices.length && !value.includes("\n")) {
      const options = choices.map((choice) => h("option", { value: plain(choice) }));
      input = [h("input", { ...free, list: `choices-${number}`, autocomplete: "off" }), h("datalist", { id: `choices-${number}` }, options)];
    } else {
      input = h("textarea", { ...free, rows: 1 });
    }
    const label = h("label", { for: id }, bdi(name), h("small", required ? "required" : "optional"));
    return h("div.field", label, description && h("p.text", { id: about, dir: "auto" }, text(description)), input);
  };
  const all = declared.map(field);
  if (takesInput && !declared.some(({ name }) => name === "input")) {
    const label = h("label", { for: "input" }, "input", !declared.length && h("small", "what you would type after the name"));
    const attributes = { name: "input", rows: 3, dir: "auto", value: values.input ?? "", oninput: ({ target }) => set("input", target.value) };
    all.push(h("div.field", label, h("textarea.long#input", attributes)));
  }
  return all;
}
