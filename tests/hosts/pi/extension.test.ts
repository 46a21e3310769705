// Pi's extension in a host that goes wrong in every way: nothing is thrown, and nothing is returned.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

const home = fs.mkdtempSync(path.join(os.tmpdir(), "te-test-"));
after(() => fs.rmSync(home, { recursive: true }));
Object.assign(globalThis, {
  INSTALLED: { host: "pi", via: "extension", version: "0.1.0", home, daemon: [], environmentNames: [] },
});
const { default: extension } = await import("../../../hosts/pi/extension.ts");

/** Something on which every use fails. */
const HOSTILE: object = new Proxy(() => {}, {
  get() {
    throw new Error("no such member");
  },
  apply() {
    throw new Error("no such function");
  },
});

function handlersOf(host: object): Map<string, Handler> {
  const handlers = new Map<string, Handler>();
  extension({ on: (name: string, handler: Handler) => handlers.set(name, handler), ...host } as never);
  return handlers;
}

function session(entries: object[]): object {
  return {
    cwd: home,
    hasUI: false,
    sessionManager: {
      getSessionId: () => "s-1",
      getSessionFile: () => undefined,
      getEntries: () => entries,
    },
    getContextUsage: () => undefined,
  };
}

for (const host of [{}, HOSTILE, undefined, { on: null }]) {
  test(`a host that is ${host === HOSTILE ? "hostile" : JSON.stringify(host)} loads it`, () => {
    assert.equal(extension(host as never), undefined);
  });
}

test("whatever an event and its context are, its handler returns nothing", async () => {
  const handlers = handlersOf({});
  assert.ok(handlers.size > 5);
  for (const [name, handler] of handlers) {
    for (const event of [undefined, null, {}, HOSTILE, { message: { role: "user" } }, { toolResults: [{}] }]) {
      for (const context of [undefined, {}, HOSTILE, session([])]) {
        assert.equal(await handler(event, context), undefined, name);
      }
    }
  }
});

const OWN = "<tokeneconomizer>\n- a fact\n</tokeneconomizer>";
const SECTIONS: [string, object[], string | undefined][] = [
  ["none", [], undefined],
  ["one", [{ tokeneconomizer: OWN }], "- a fact"],
  ["one that others follow", [{ tokeneconomizer: OWN }, { cwd: "x" }], "- a fact"],
  ["one that was removed", [{ tokeneconomizer: OWN }, { tokeneconomizer: null }], undefined],
];

for (const [what, recorded, text] of SECTIONS) {
  test(`a session that goes on with ${what} in its file is given the same`, async () => {
    const messages = [...recorded.map((sections) => ({ role: "system", sections })), { role: "user" }];
    const entries = messages.map((message) => ({ type: "message", message }));
    const handlers = handlersOf({});
    await handlers.get("session_start")?.({ reason: "startup" }, session(entries));
    for (const _prompt of [1, 2]) {
      const sections: Record<string, string> = {};
      await handlers.get("before_agent_start")?.({ systemPromptOptions: { sections } }, session(entries));
      assert.deepEqual(sections, text === undefined ? {} : { tokeneconomizer: text });
    }
  });
}
