// Makes calls of a bridge against a running daemon, and prints what each took in milliseconds.

import { Bridge } from "../../hosts/bridge/bridge.ts";

/** The size of a usual tool result. */
const OUTPUT_CHARACTERS = 4_000;

const [home = "", count = "0", pauseMs = "0"] = process.argv.slice(2);
const bridge = new Bridge({
  host: "pi",
  via: "extension",
  version: "bench",
  home,
  daemon: [],
  environmentNames: [],
});
const times: number[] = [];
for (let number = 0; number < Number(count); number += 1) {
  const toolCallId = `call_${pauseMs}_${number}`;
  const block = { type: "toolCall", id: toolCallId, name: "read", arguments: { path: `module_${number}.py` } };
  const content = [{ type: "text", text: `${number}: ${"x".repeat(OUTPUT_CHARACTERS)}` }];
  const event = {
    type: "turn_end",
    message: { content: [block] },
    toolResults: [{ toolCallId, toolName: "read", content, isError: false, durationMs: 1 }],
    ran: [toolCallId],
  };
  const pause = Number(pauseMs);
  await new Promise<void>((resolve) => void (pause ? setTimeout(resolve, pause) : setImmediate(resolve)));
  const began = performance.now();
  await bridge.call("turn_end", { session_id: "bench", cwd: "/home/dev/project", event });
  times.push(performance.now() - began);
}
console.log(JSON.stringify(times));
