// Written by `prompt-expander install pi`: the model gets the texts of the prompts that a message names. `uninstall` removes it.
import { spawnSync } from "node:child_process"
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent"

const command = []

export default function (pi: ExtensionAPI) {
  pi.on("input", (event, ctx) => {
    if (event.source === "extension") return // nobody typed it
    try {
      const input = JSON.stringify({ type: "input", text: event.text, cwd: ctx.cwd })
      const ran = spawnSync(command[0], command.slice(1), { input, encoding: "utf8", timeout: 5000, windowsHide: true })
      if (ran.stdout) return JSON.parse(ran.stdout) // {"action": "transform", "text": …}
    } catch {} // the message is sent as it is
  })
}
