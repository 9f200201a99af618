// The stream in which the server reports that prompts have changed.

import { authorization } from "./token.js";

/**
 * Calls `onChange` whenever prompts have changed, while the page is visible. Without a valid token, gives up.
 *
 * A hidden page closes its stream: a browser has few connections to a server, and other tabs need them.
 */
export async function follow(onChange) {
  for (let failures = 0; ; failures += 1) {
    while (document.hidden) await visibilityChange();
    const stream = new AbortController();
    visibilityChange().then(() => stream.abort());
    try {
      const response = await fetch("/mcp", { ...subscription(), signal: stream.signal });
      if (response.status === 401) return;
      if (response.ok) {
        failures = 0;
        await readEvents(response.body, onChange);
      }
    } catch {
      // The server is away, or the page is hidden.
    }
    await new Promise((done) => setTimeout(done, Math.min(1000 * 2 ** failures, 30_000)));
  }
}

function visibilityChange() {
  return new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

/** Calls `onChange` for each event, also for the first, "the stream has begun": earlier changes were not reported. */
async function readEvents(body, onChange) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let events = await reader.read(); !events.done; events = await reader.read()) {
    if (events.value.includes("data:")) onChange();
  }
}

/** The request `subscriptions/listen` of MCP. */
function subscription() {
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
  return { method: "POST", headers, body, cache: "no-store", credentials: "omit" };
}
