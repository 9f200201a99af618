// Making and replacing elements, and small things that every part of the page needs.

export const find = (selector) => document.querySelector(selector);

/**
 * Makes an element: `h("p.note#id", { attribute: value }, children)`.
 *
 * Attributes and children that are `null` or `false` are left out. `value` and handlers such as `onclick` are set as
 * properties.
 */
export function h(selector, ...rest) {
  const [tag, ...names] = selector.split(/(?=[.#])/);
  const element = document.createElement(tag);
  for (const name of names) {
    if (name.startsWith("#")) element.id = name.slice(1);
    else element.classList.add(name.slice(1));
  }
  const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
  element.append(...rest.flat(Infinity).filter((child) => child != null && child !== false));
  // After the children: the value of a `select` is one of its options.
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  return element;
}

/** Sets an attribute or a property of an element. */
function setAttribute(element, name, value) {
  if (value == null || value === false) return;
  if (name === "value" || name.startsWith("on")) element[name] = value;
  else element.setAttribute(name, value === true ? "" : value);
}

/** Returns a copy of the element in a `<template>` of the page. */
export const copyOfTemplate = (id) => find(`#${id}`).content.firstElementChild.cloneNode(true);

export const main = (...children) => h("main.wide#main", { tabindex: -1 }, children);
export const bar = (...children) => h("div.bar", children);
export const titled = (heading, ...links) => h("div.title", h("h1", heading), links);
export const backToList = () => h("a.back", { href: "/" }, "← All prompts");

export function button(selector, label, onclick, disabled = false) {
  return h(`button${selector}`, { type: "button", disabled, onclick }, label);
}

/** A part of a page with a heading of its own, and with buttons next to it. */
export function part(id, heading, buttons, ...children) {
  const label = h(`h2#${id}-heading`, { tabindex: -1 }, heading);
  return h(`section.result#${id}`, { "aria-labelledby": label.id }, bar(label, buttons), children);
}

/** A sentence of the page about what it shows. */
export const note = (...words) => h("p.length.text", { role: "status", dir: "auto" }, words);

/** Returns a function that does the work once it was not called for this time. */
export function debounced(milliseconds, work) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

let toastTimer;

/** Shows a message at the edge of the page for a time, or until the next one if `milliseconds` is 0. */
export function say(words, milliseconds = 4000) {
  clearTimeout(toastTimer);
  find("#toast").textContent = words;
  if (milliseconds) toastTimer = setTimeout(() => (find("#toast").textContent = ""), milliseconds);
}

/** Copies a text to the clipboard. */
export async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    say("Copied", 2500);
  } catch {
    // Without TLS, a page of another machine has no clipboard.
    say("The browser does not allow it; select the text and copy it yourself.");
  }
}

/** Puts an element in place of the one with the same id, unless they are equal. */
export function update(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old.isEqualNode(fresh)) replaceKeeping(old, fresh);
}

/** Replaces an element. What is open, scrolled, focused and selected in the old one is so in the new one. */
export function replaceKeeping(old, fresh) {
  const positions = [...old.querySelectorAll("[id]")].map(({ id, scrollTop }) => ({ id, scrollTop }));
  const focus = focusIn(old);
  for (const details of fresh.querySelectorAll("details[id]")) {
    details.open = old.querySelector(`#${details.id}`)?.open ?? false;
  }
  old.replaceWith(fresh);
  for (const { id, scrollTop } of positions) document.getElementById(id)?.scrollTo(0, scrollTop);
  if (focus) restoreFocus(focus);
}

/** Describes what is focused within an element, and what is selected in it; `null` if nothing in it is focused. */
function focusIn(element) {
  const active = document.activeElement;
  if (!element.contains(active)) return null;
  const href = active.getAttribute("href");
  let selector = "#main";
  if (href) selector = `main a[href="${CSS.escape(href)}"]`;
  if (active.id) selector = `#${active.id}`;
  return { selector, start: active.selectionStart, end: active.selectionEnd };
}

/** Gives the focus to what `focusIn` has described, or to the whole page if that is gone. */
function restoreFocus({ selector, start, end }) {
  const element = find(selector);
  (element ?? find("#main")).focus({ preventScroll: true });
  if (start != null) element?.setSelectionRange(start, end);
}
