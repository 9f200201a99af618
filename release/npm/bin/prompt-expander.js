#!/usr/bin/env node
// Starts the program in the package of this system. `prompt-expander install` registers that program, not this script, so that agents start
// no Node.
"use strict";
const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "prompt-expander.exe" : "prompt-expander";
let program;
try {
  program = require.resolve(`@prompt-expander/${platform}/bin/${file}`);
} catch {
  console.error(
    `error: the package @prompt-expander/${platform} is not installed. If npm leaves out optional dependencies, install without ` +
      "`--omit=optional`; otherwise there is no program for this system: build it from source.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
