// Tells a running daemon of turns as an agent's bridge does, and prints what each step waited, in milliseconds.

import { Bridge } from "../../hosts/bridge/bridge.ts";

/** The size of a usual tool result. */
const OUTPUT_CHARACTERS = 4_000;

const [home = "", count = "0", pauseMs = "0", waiting = "as told"] = process.argv.slice(2);
const bridge = new Bridge({
  host: "pi",
  via: "extension",
  version: "bench",
  home,
  daemon: [],
  environmentNames: [],
});
const session = `bench ${pauseMs} ${waiting}`;

interface Call {
  name: string;
  arguments: Record<string, string>;
  text: string;
  isError: boolean;
}

/** A turn of twelve steps: three looks, then tests that fail twice in the same way and pass in the end. */
function turn(number: number): Call[] {
  const read = (name: string): Call => call("read", { path: `${name}_${number}.py` }, `${name} ${number} ${filling}`);
  const edit = (text: string): Call => call("edit", { path: `a_${number}.py`, edits: text }, "Edited.");
  const test = (isError: boolean): Call =>
    call("bash", { command: `pytest -q test_${number}.py` }, isError ? FAILED : "2 passed in 0.4s", isError);
  return [
    ...["a", "b", "c"].map(read),
    test(true),
    edit("one"),
    test(true),
    read("d"),
    edit("two"),
    test(false),
    ...["e", "f"].map(read),
    call("bash", { command: "git diff --stat" }, `a_${number}.py | 2 +-`),
  ];
}

const filling = "x".repeat(OUTPUT_CHARACTERS);
const FAILED = `E   ValueError: boom\n1 failed in 0.4s\n\nCommand exited with code 1\n`;

function call(name: string, given: Record<string, string>, text: string, isError = false): Call {
  return { name, arguments: given, text, isError };
}

async function pause(): Promise<void> {
  const ms = Number(pauseMs);
  await new Promise<void>((resolve) => void (ms ? setTimeout(resolve, ms) : setImmediate(resolve)));
}

const times: number[] = [];
for (let number = 0; times.length < Number(count); number += 1) {
  const content = [{ type: "text", text: `task ${number}` }];
  const prompt = { type: "message_end", message: { role: "user", content }, entryId: `p${number}`, source: "interactive" };
  const about = { session_id: session, cwd: "/home/dev/project" };
  void bridge.call("message_end", { ...about, event: prompt }, undefined, { isWaitedFor: false, stepOf: session });
  for (const { name, arguments: given, text, isError } of turn(number)) {
    await pause();
    const toolCallId = `call_${pauseMs}_${waiting}_${times.length}`;
    const block = { type: "toolCall", id: toolCallId, name, arguments: given };
    const result = { toolCallId, toolName: name, content: [{ type: "text", text }], isError, durationMs: 1 };
    const event = { type: "turn_end", message: { content: [block] }, toolResults: [result], ran: [toolCallId] };
    const options = waiting === "always" ? {} : { stepOf: session };
    const began = performance.now();
    await bridge.call("turn_end", { ...about, event }, undefined, options);
    times.push(performance.now() - began);
  }
}
await bridge.call("session_shutdown", { session_id: session, cwd: "/", event: { type: "session_shutdown" } });
console.log(JSON.stringify(times));
