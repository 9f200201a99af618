// Written by `prompt-expander install opencode`: the model gets the texts of the prompts that a message names. `uninstall` removes it.
import { spawnSync } from "node:child_process"

const command = []

export const PromptExpander = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    try {
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const text = typed.map((part) => part.text).join("\n")
      // `opencode run` puts quotes around a message of several words.
      const quoted = text.match(/^"((?:[^"]|\\")*)"\s*$/)
      const prompt = quoted ? quoted[1].replaceAll('\\"', '"') : text
      const event = JSON.stringify({ hook_event_name: "chat.message", prompt, cwd: directory })
      const ran = spawnSync(command[0], command.slice(1), { input: event, encoding: "utf8", timeout: 5000, windowsHide: true })
      if (!ran.stdout) return
      const id = output.parts[output.parts.length - 1].id + "x"
      const added = JSON.parse(ran.stdout).hookSpecificOutput.additionalContext
      const of = { sessionID: input.sessionID, messageID: output.message.id }
      output.parts.push({ id, ...of, type: "text", synthetic: true, text: added })
    } catch {} // an error would lose the message
  },
})
