// A form with a field for each value of a prompt.

import { h } from "./dom.js";
import { bdi, plain, text } from "./text.js";

/** Returns the values that are not empty: an empty one counts as not given, as everywhere. */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

/** Values by name, with nothing else: an argument may be named `constructor`. */
export const valuesOf = (entries) => Object.assign(Object.create(null), Object.fromEntries(entries));

/** Returns a field for each argument, and for the input. What is typed gets into `values`; then `onchange` is told. */
export function fields(declared, takesInput, values, onchange) {
  const set = ({ target }) => {
    values[target.name] = target.value;
    onchange();
  };
  const all = declared.map((argument, index) => {
    return argumentField(argument, `argument-${index}`, values[argument.name] ?? "", set);
  });
  const isDeclared = declared.some(({ name }) => name === "input");
  if (takesInput && !isDeclared) all.push(inputField(declared.length === 0, values.input ?? "", set));
  return all;
}

/** The field for what follows the name of the prompt in a chat. */
function inputField(isOnly, value, oninput) {
  const label = h("label", { for: "input" }, "input", isOnly && h("small", "what you would type after the name"));
  return h("div.field", label, h("textarea.long#input", { name: "input", rows: 3, dir: "auto", value, oninput }));
}

/** The field for an argument, with its description. */
function argumentField(argument, id, value, oninput) {
  const { name, description, required } = argument;
  const label = h("label", { for: id }, bdi(name), h("small", required ? "required" : "optional"));
  const about = description && h("p.text", { id: `about-${id}`, dir: "auto" }, text(description));
  return h("div.field", label, about, control(argument, { id, name, value, oninput, "aria-describedby": about?.id }));
}

/** What a value is typed into: a list of choices, a line with suggestions, or a text that grows. */
function control({ strict, choices = [], default: usual = "" }, attributes) {
  const { id, value } = attributes;
  if (strict && choices.length) {
    // A link may have a value that is not a choice.
    const all = !value || choices.includes(value) ? choices : [...choices, value];
    const options = all.map((choice) => h("option", { value: choice }, plain(choice)));
    return h("select", attributes, h("option", { value: "" }, usual ? `${plain(usual)} (default)` : "–"), options);
  }
  const free = { ...attributes, placeholder: plain(usual), dir: "auto" };
  if (!choices.length || value.includes("\n")) return h("textarea", { ...free, rows: 1 });
  const options = choices.map((choice) => h("option", { value: plain(choice) }));
  return [h("input", { ...free, list: `choices-${id}`, autocomplete: "off" }), h(`datalist#choices-${id}`, options)];
}
