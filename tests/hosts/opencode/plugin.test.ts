// opencode's plugin in fake hosts of both generations, with a daemon that says what a test wants (node --test).
//
// The host of 1.x does what 1.18.33 was seen to do; that of 2.x is written after its published plugin types, and no
// program of that generation was run.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";

import type { Installed } from "../../../hosts/bridge/bridge.ts";

type Foreign = any;

const FOLDER = "/home/dev/project";
const REDIRECT = "look again";
const BLOCK = "- `pytest` is not found here";
const TEMPORARY = os.tmpdir();
const NEVER = new Promise<never>(() => {});

let home = "";
let said: Record<string, object> = {};
let asked: { event: string; payload: Foreign }[] = [];
let confirmed = 0;
let plugin: Foreign;
let daemon: net.Server;
const sockets = new Set<net.Socket>();

/** Answer each request with what `said` has for its event. */
function serve(socket: net.Socket): void {
  sockets.add(socket);
  let received = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      while (received[0] === 0x2b) {
        confirmed += 1;
        received = received.subarray(1);
      }
      const end = received.indexOf(0x0a) + 1;
      if (end === 0) return;
      const words = received.toString("latin1", 0, end - 1).split(" ");
      const [environment, length] = [Number(words[7]), Number(words[8])];
      const last = end + environment + length;
      if (received.length < last) return;
      const payload = JSON.parse(received.toString("utf8", end + environment, last));
      received = received.subarray(last);
      const event = words[3] ?? "";
      asked.push({ event, payload });
      const reply = JSON.stringify(said[event] ?? {});
      socket.write(`TE1 0.1.0 ${Buffer.byteLength(reply)}\n${reply}`);
    }
  });
}

beforeEach(async () => {
  home = fs.mkdtempSync(path.join(TEMPORARY, "te-plugin-"));
  [said, asked, confirmed] = [{}, [], 0];
  const installed: Installed = {
    host: "opencode",
    via: "plugin",
    version: "0.1.0",
    home,
    daemon: ["/bin/true"],
    environmentNames: [],
  };
  (globalThis as Foreign).INSTALLED = installed;
  delete (globalThis as Foreign)[Symbol.for("tokeneconomizer.opencode")];
  plugin = (await import("../../../hosts/opencode/plugin.ts")).default;
  daemon = net.createServer(serve);
  await new Promise<void>((resolve) => daemon.listen(path.join(home, "daemon.sock"), resolve));
});

afterEach(() => {
  daemon.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  fs.rmSync(home, { recursive: true });
});

after(() => delete (globalThis as Foreign).INSTALLED);

/** opencode 1.x, as far as the plugin sees it. */
class Host1 {
  prompts: Foreign[] = [];
  toasts: string[] = [];
  sessions: Record<string, Foreign> = {};
  hooks: Foreign;

  async load(directory = FOLDER): Promise<Host1> {
    const client = {
      session: {
        get: async ({ path: { id } }: Foreign) => ({ data: this.sessions[id] }),
        prompt: async (words: Foreign) => void this.prompts.push(words),
      },
      tui: { showToast: async ({ body }: Foreign) => void this.toasts.push(body.message) },
      tool: { list: async () => ({ data: [{ id: "bash", description: "Runs.", parameters: { type: "object" } }] }) },
    };
    this.hooks = await plugin.server({ client, directory });
    return this;
  }

  async event(type: string, properties: object): Promise<void> {
    await this.hooks.event({ event: { type, properties } });
  }

  async create(id: string, more: object = {}): Promise<void> {
    const info = { id, directory: FOLDER, time: { created: Date.now() + 1 }, ...more };
    this.sessions[id] = info;
    await this.event("session.created", { sessionID: id, info });
  }

  async prompt(sessionID: string, ...parts: object[]): Promise<void> {
    const message = { id: "msg_1", agent: "build", model: { providerID: "lab", modelID: "m" } };
    await this.hooks["chat.message"]({ sessionID }, { message, parts });
  }

  async system(sessionID: string, first = "You are opencode"): Promise<string[]> {
    const output = { system: [first] };
    await this.hooks["experimental.chat.system.transform"]({ sessionID, model: { id: "m", providerID: "lab" } }, output);
    return output.system;
  }

  async fail(sessionID: string, messageID: string): Promise<void> {
    const state = { status: "error", error: "no such text", input: { filePath: "/a" }, time: { start: 1, end: 3 } };
    const part = { type: "tool", tool: "edit", callID: "call_1", sessionID, messageID, state };
    await this.event("message.part.updated", { sessionID, part });
  }
}

const TEXT = { type: "text", text: "hello" };

/** Wait until the daemon was asked so often; what is not awaited by a hook comes a moment later. */
async function until(number: number): Promise<string[]> {
  while (asked.length < number) await new Promise((resolve) => setImmediate(resolve));
  return asked.map(({ event }) => event);
}

test("a session is told from its start to its end, each thing once and in its order", async () => {
  const host = await new Host1().load();
  await host.create("ses_1");
  await host.prompt("ses_1", TEXT);
  await host.system("ses_1");
  await host.hooks["tool.execute.after"](
    { tool: "bash", sessionID: "ses_1", callID: "call_1", args: { command: "x" } },
    { title: "x", output: "out", metadata: { exit: 3, output: "out" } },
  );
  await host.event("session.idle", { sessionID: "ses_1" });
  await host.hooks.dispose();
  assert.deepEqual(await until(5), [
    "session.created",
    "chat.message",
    "tool.execute.after",
    "session.idle",
    "dispose",
  ]);
  assert.deepEqual(asked[2]?.payload.output, { output: "out", metadata: { exit: 3 } });
  assert.ok(asked.every(({ payload }) => payload.folder === FOLDER));
});

test("facts are asked once a session and end the system prompt of every request but the title's", async () => {
  said = { "session.created": { context: BLOCK } };
  const host = await new Host1().load();
  await host.create("ses_1");
  assert.deepEqual(await host.system("ses_1"), ["You are opencode", BLOCK]);
  assert.deepEqual(await host.system("ses_1", "You are a title generator. You output"), [
    "You are a title generator. You output",
  ]);
  said = { "session.created": { context: "others" } };
  assert.deepEqual(await host.system("ses_1"), ["You are opencode", BLOCK]);
  assert.deepEqual(await until(1), ["session.created"]);
});

test("a session of an earlier process is given what the daemon has on record", async () => {
  said = { "session.resumed": { context: BLOCK } };
  const host = await new Host1().load();
  host.sessions["ses_1"] = { id: "ses_1", directory: FOLDER, time: { created: 1 } };
  await host.prompt("ses_1", TEXT);
  assert.deepEqual(await host.system("ses_1"), ["You are opencode", BLOCK]);
});

test("without a daemon it is given the bytes that it was given before", async () => {
  said = { "session.created": { context: BLOCK } };
  const first = await new Host1().load();
  await first.create("ses_1");
  await first.hooks.dispose();
  daemon.close();
  for (const socket of sockets) socket.destroy();
  const second = await new Host1().load();
  second.sessions["ses_1"] = { id: "ses_1", directory: FOLDER, time: { created: 1 } };
  assert.deepEqual(await second.system("ses_1"), ["You are opencode", BLOCK]);
});

test("a session that begins without a daemon is given the facts that lie on disk", async () => {
  daemon.close();
  const project = path.join(fs.realpathSync(home), "project");
  fs.mkdirSync(path.join(project, ".git"), { recursive: true });
  fs.mkdirSync(path.join(home, "repos"));
  fs.writeFileSync(path.join(home, "repos", "block.md"), BLOCK);
  const starts = { configuration: [], checkouts: { [project]: { opencode: "block.md" } } };
  fs.writeFileSync(path.join(home, "repos", "starts.json"), JSON.stringify(starts));
  const host = await new Host1().load(project);
  await host.create("ses_1", { directory: project });
  await host.create("ses_2", { directory: project, parentID: "ses_1" });
  assert.deepEqual(await host.system("ses_1"), ["You are opencode", BLOCK]);
  assert.deepEqual(await host.system("ses_2"), ["You are opencode"]);
});

test("a redirect is added to the tool's own output, and to the parts of an MCP tool's", async () => {
  said = { "tool.execute.after": { context: REDIRECT } };
  const host = await new Host1().load();
  await host.create("ses_1");
  const call = { tool: "bash", sessionID: "ses_1", callID: "call_1", args: {} };
  const plain = { output: "out", metadata: {} };
  const parts = { content: [{ type: "text", text: "out" }] };
  await host.hooks["tool.execute.after"](call, plain);
  await host.hooks["tool.execute.after"](call, parts);
  assert.equal(plain.output, `out\n\n${REDIRECT}`);
  assert.deepEqual(parts.content, [
    { type: "text", text: "out" },
    { type: "text", text: REDIRECT },
  ]);
  while (confirmed < 2) await new Promise((resolve) => setImmediate(resolve));
});

test("a redirect to a failed call is a message under the same agent and model, which is no prompt", async () => {
  said = { "message.part.updated": { context: REDIRECT, hint: "stuck" } };
  const host = await new Host1().load();
  await host.create("ses_1");
  await host.prompt("ses_1", TEXT);
  await host.event("message.updated", { sessionID: "ses_1", info: { id: "msg_2", role: "assistant" } });
  await host.fail("ses_1", "msg_2");
  const part = { type: "text", text: REDIRECT, synthetic: true };
  const speaker = { agent: "build", model: { providerID: "lab", modelID: "m" } };
  assert.deepEqual(host.prompts, [
    { path: { id: "ses_1" }, body: { noReply: true, ...speaker, parts: [part] } },
  ]);
  assert.deepEqual(host.toasts, ["stuck"]);
  await host.prompt("ses_1", part);
  assert.equal((await until(3)).filter((event) => event === "chat.message").length, 1);
});

test("what would come behind the next reply is not said, and not confirmed", async () => {
  said = { "message.part.updated": { context: REDIRECT } };
  const host = await new Host1().load();
  await host.create("ses_1");
  await host.prompt("ses_1", TEXT);
  await host.event("message.updated", { sessionID: "ses_1", info: { id: "msg_3", role: "assistant" } });
  await host.fail("ses_1", "msg_2");
  assert.deepEqual([host.prompts, confirmed], [[], 0]);
});

test("a sub-agent's session names its parent", async () => {
  const host = await new Host1().load();
  await host.create("ses_2", { parentID: "ses_1", agent: "general" });
  await host.prompt("ses_2", TEXT);
  await until(2);
  assert.deepEqual(
    asked.map(({ payload }) => payload.parent),
    ["ses_1", "ses_1"],
  );
});

test("the tools come with the next call, with the size of their definitions, once", async () => {
  const host = await new Host1().load();
  await host.create("ses_1");
  await host.hooks["tool.definition"]({ toolID: "bash" }, {});
  await host.system("ses_1");
  await new Promise((resolve) => setImmediate(resolve));
  const call = { tool: "bash", sessionID: "ses_1", callID: "call_1", args: {} };
  await host.hooks["tool.execute.after"](call, { output: "out" });
  await host.hooks["tool.execute.after"](call, { output: "out" });
  const definition = { name: "bash", description: "Runs.", parameters: { type: "object" } };
  assert.deepEqual(
    asked.slice(1).map(({ payload }) => payload.tools),
    [[{ name: "bash", characters: JSON.stringify(definition).length }], undefined],
  );
});

test("a compaction is told with the length of its summary", async () => {
  const host = await new Host1().load();
  await host.create("ses_1");
  await host.event("message.part.updated", { sessionID: "ses_1", part: { type: "compaction", auto: true } });
  const info = { id: "msg_9", role: "assistant", summary: true };
  await host.event("message.updated", { sessionID: "ses_1", info });
  await host.event("message.part.updated", { sessionID: "ses_1", part: { ...TEXT, messageID: "msg_9" } });
  await host.event("session.compacted", { sessionID: "ses_1" });
  await until(2);
  assert.deepEqual(
    [asked[1]?.event, asked[1]?.payload.summaryCharacters, asked[1]?.payload.trigger],
    ["session.compacted", 5, "auto"],
  );
});

test("both entries of one process, and a second copy, tell everything once", async () => {
  const host = await new Host1().load();
  assert.equal(await plugin.setup({ options: {}, agent: {} }), undefined);
  const second = await new Host1().load();
  assert.deepEqual(second.hooks, {});
  await host.hooks.dispose();
  assert.notDeepEqual((await new Host1().load()).hooks, {});
});

test("sessions of another folder are left to its own registration", async () => {
  const host = await new Host1().load();
  await host.create("ses_1", { directory: "/elsewhere" });
  await host.event("session.idle", { sessionID: "ses_1" });
  assert.deepEqual(asked, []);
});

test("nothing is thrown out of a hook, whatever it is given and whatever opencode answers", async () => {
  const host = await new Host1().load();
  host.sessions = new Proxy({}, { get: () => assert.fail("no such session") });
  for (const words of [undefined, null, 7, "text", {}, { event: null, sessionID: "ses_1", tool: 1 }]) {
    for (const hook of Object.values(host.hooks) as ((...words: unknown[]) => Promise<void>)[]) {
      await hook(words, words);
    }
  }
});

test("a hook ends when opencode does not answer", async () => {
  const host = await new Host1().load();
  host.sessions = { ses_1: NEVER };
  await host.prompt("ses_1", TEXT);
});

test("in a side call of our own nothing is registered", async () => {
  process.env["TOKENECONOMIZER_SIDE_CALL"] = "1";
  try {
    assert.deepEqual((await new Host1().load()).hooks, {});
  } finally {
    delete process.env["TOKENECONOMIZER_SIDE_CALL"];
  }
});

/** opencode 2.x, after its published types. */
class Host2 {
  hooks = new Map<string, (event: Foreign) => Promise<void>>();
  sessions: Record<string, Foreign> = { ses_1: { time: { created: Date.now() + 60_000 } } };
  cleanUp: () => Promise<void> = async () => {};
  private tellEvent: (event: object) => void = () => {};
  private readonly events: AsyncIterable<object>;

  constructor() {
    const waiting: object[] = [];
    let wake = (): void => {};
    this.tellEvent = (event) => {
      waiting.push(event);
      wake();
    };
    this.events = (async function* () {
      for (;;) {
        yield* waiting.splice(0);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    })();
  }

  async load(): Promise<Host2> {
    const register = (domain: string) => async (name: string, callback: (event: Foreign) => Promise<void>) => {
      this.hooks.set(`${domain}.${name}`, callback);
      return { dispose: async () => {} };
    };
    this.cleanUp = await plugin.setup({
      location: { directory: FOLDER },
      session: { hook: register("session"), get: async ({ sessionID }: Foreign) => this.sessions[sessionID] },
      tool: { hook: register("tool") },
      event: { subscribe: () => this.events },
    });
    return this;
  }

  async hook(name: string, event: Foreign): Promise<Foreign> {
    await this.hooks.get(name)?.({ sessionID: "ses_1", ...event });
    return event;
  }

  end(type: string, data: object = {}): void {
    this.tellEvent({ type, data: { sessionID: "ses_1", ...data } });
  }
}

test("2.x: a session is told in the same words", async () => {
  said = { "session.created": { context: BLOCK } };
  const host = await new Host2().load();
  await host.hook("session.prompt", { messageID: "msg_1", prompt: { text: "hello" }, delivery: "steer" });
  const request = await host.hook("session.context", { kind: "primary", system: [{ type: "text", text: "You" }] });
  const title = await host.hook("session.context", { kind: "title", system: [] });
  await host.hook("tool.execute.after", {
    tool: "bash",
    id: "call_1",
    input: { command: "x" },
    status: "completed",
    result: { content: [{ type: "text", text: "out" }], metadata: { exit: 1 } },
  });
  host.end("session.execution.succeeded");
  await until(4);
  await host.cleanUp();
  assert.deepEqual(await until(5), [
    "session.created",
    "chat.message",
    "tool.execute.after",
    "session.idle",
    "dispose",
  ]);
  assert.deepEqual(request.system.slice(1), [{ type: "text", text: BLOCK }]);
  assert.deepEqual(title.system, []);
  assert.deepEqual(asked[2]?.payload.output, { output: "out", metadata: { exit: 1 } });
});

test("2.x: a redirect is added to a result of each form, and to the words of a failure", async () => {
  said = { "tool.execute.after": { context: REDIRECT }, "message.part.updated": { context: REDIRECT } };
  const host = await new Host2().load();
  const call = { tool: "bash", id: "call_1", input: {}, status: "completed" };
  const results = [
    { content: "out" },
    { content: Object.freeze([{ type: "text", text: "out" }]) },
    { output: "out" },
  ];
  const texts = await Promise.all(
    results.map(async (result) => {
      const event = { sessionID: "ses_1", ...call, result: Object.freeze(result) };
      await host.hooks.get("tool.execute.after")?.(event);
      return JSON.stringify((event.result as Foreign).content);
    }),
  );
  assert.ok(texts.every((text) => text.includes("out") && text.includes(REDIRECT)));
  const failure = { sessionID: "ses_1", ...call, status: "error", error: new Error("no such text") };
  await host.hooks.get("tool.execute.after")?.(failure);
  assert.equal(failure.error.message, `no such text\n\n${REDIRECT}`);
});

test("2.x: a turn that fails or is interrupted ends with its reason", async () => {
  const host = await new Host2().load();
  await host.hook("session.prompt", { messageID: "msg_1", prompt: { text: "hello" } });
  host.end("session.execution.failed", { error: { type: "provider", message: "busy" } });
  host.end("session.execution.interrupted", { reason: "user" });
  await until(4);
  assert.deepEqual(
    asked.slice(2).map(({ payload }) => payload.event.properties.error.name),
    ["provider", "MessageAbortedError"],
  );
});

test("2.x: nothing is thrown, and a second registration is none", async () => {
  const host = await new Host2().load();
  for (const hook of host.hooks.values()) await hook(undefined);
  assert.equal((await new Host2().load()).hooks.size, 0);
  assert.equal(await plugin.setup(undefined), undefined);
});
