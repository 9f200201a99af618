// Written by `prompt-expander install opencode`: the model gets the texts of the prompts that a message names. `uninstall` removes it.
import { spawnSync } from "node:child_process"

const command = []

const contextFor = (prompt, cwd) => {
  const event = JSON.stringify({ hook_event_name: "chat.message", prompt, cwd })
  const ran = spawnSync(command[0], command.slice(1), { input: event, encoding: "utf8", timeout: 5000, windowsHide: true })
  return ran.stdout && JSON.parse(ran.stdout).hookSpecificOutput.additionalContext
}

export const PromptExpander = async ({ directory }) => ({
  // A command that `prompt-expander sync` has written becomes what the user typed. Then comes `chat.message`.
  "command.execute.before": async (input, output) => {
    try {
      if (!contextFor("/" + input.command, directory)) return
      const text = `/${input.command} ${input.arguments}`.trim()
      const files = output.parts.filter((part) => part.type !== "text")
      output.parts.splice(0, output.parts.length, { type: "text", text }, ...files)
    } catch {} // the command runs as it is
  },
  "chat.message": async (input, output) => {
    try {
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const text = typed.map((part) => part.text).join("\n")
      // `opencode run` puts quotes around a message of several words.
      const quoted = text.match(/^"((?:[^"]|\\")*)"\s*$/)
      const prompt = quoted ? quoted[1].replaceAll('\\"', '"') : text
      const added = contextFor(prompt, directory)
      if (!added) return
      const id = output.parts[output.parts.length - 1].id + "x"
      const of = { sessionID: input.sessionID, messageID: output.message.id }
      output.parts.push({ id, ...of, type: "text", synthetic: true, text: added })
    } catch {} // an error would lose the message
  },
})
