// The bridge against a daemon that is absent, dead, slow, confused or of another version (node --test).

import assert from "node:assert/strict";
import * as childProcess from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";

import { Bridge, DEADLINE_MS, PAYLOAD_BYTES_MAX, SPOOL_BYTES_MAX, encoded } from "../../../hosts/bridge/bridge.ts";
import type { Installed, Said } from "../../../hosts/bridge/bridge.ts";

const REDIRECT = '{"context": "look again"}';
/** Long enough for a loaded machine; a test that works never waits for it. */
const PATIENCE_MS = 30_000;

const TEMPORARY = os.tmpdir();
let home = "";
let installed: Installed;
let servers: FakeDaemon[] = [];

/** A request as the daemon reads it. */
interface Asked {
  kind: string;
  event: string;
  deliveryId: string;
  environment: string;
  payload: string;
}

type Answer = (asked: Asked, socket: net.Socket) => void;

class FakeDaemon {
  asked: Asked[] = [];
  confirmed = 0;
  connections = 0;
  private readonly sockets = new Set<net.Socket>();
  private readonly server: net.Server;

  private readonly folder: string;

  private constructor(answer: Answer, folder: string) {
    this.folder = folder;
    this.server = net.createServer((socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      let received = Buffer.alloc(0);
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        received = Buffer.concat([received, chunk]);
        while (received[0] === 0x2b) {
          this.confirmed += 1;
          received = received.subarray(1);
        }
        const end = received.indexOf(0x0a) + 1;
        if (end === 0) return;
        const words = received.toString("latin1", 0, end - 1).split(" ");
        const [environment, payload] = [Number(words[7]), Number(words[8])];
        if (received.length < end + environment + payload) return;
        const asked = {
          kind: `${words[0]} ${words[1]}`,
          event: words[3] ?? "",
          deliveryId: words[6] ?? "",
          environment: received.toString("utf8", end, end + environment),
          payload: received.toString("utf8", end + environment, end + environment + payload),
        };
        received = received.subarray(end + environment + payload);
        this.asked.push(asked);
        answer(asked, socket);
      });
    });
  }

  static async listen(answer: Answer, folder = home): Promise<FakeDaemon> {
    const daemon = new FakeDaemon(answer, folder);
    const before = process.cwd();
    process.chdir(folder);
    await new Promise<void>((resolve) => daemon.server.listen("daemon.sock", resolve));
    process.chdir(before);
    servers.push(daemon);
    return daemon;
  }

  async die(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async close(): Promise<void> {
    await this.die();
    fs.rmSync(path.join(this.folder, "daemon.sock"), { force: true });
  }
}

const say =
  (text: string, version = "0.1.0"): Answer =>
  (_asked, socket) =>
    socket.write(`TE1 ${version} ${Buffer.byteLength(text)}\n${text}`);

function spooled(): string[] {
  const folder = path.join(home, "spool");
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder).sort().map((name) => fs.readFileSync(path.join(folder, name), "utf8"));
}

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!holds()) {
    assert.ok(Date.now() < end, "it never came about");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const nobodyHeard: unknown[] = [];
process.on("uncaughtException", (error) => nobodyHeard.push(error));
process.on("unhandledRejection", (error) => nobodyHeard.push(error));
after(() => assert.deepEqual(nobodyHeard, []));

beforeEach(() => {
  delete process.env["TOKENECONOMIZER_HOME"];
  home = fs.mkdtempSync(path.join(TEMPORARY, "te-test-"));
  installed = {
    host: "pi",
    via: "extension",
    version: "0.1.0",
    home,
    daemon: [],
    environmentNames: ["PATH", "SURELY_NOT_SET"],
  };
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
  fs.rmSync(home, { recursive: true });
});

test("calls go over one connection, in order, and a silent reply is not confirmed", async () => {
  const daemon = await FakeDaemon.listen(say("{}"));
  const bridge = new Bridge(installed);
  await Promise.all([1, 2, 3].map((number) => bridge.call("tool_result", { number })));
  await bridge.call("session_start", { number: 4 }, undefined, { isStart: true });
  assert.equal(daemon.connections, 1);
  assert.equal(daemon.confirmed, 0);
  assert.deepEqual(
    daemon.asked.map((asked) => JSON.parse(asked.payload).number),
    [1, 2, 3, 4],
  );
  assert.equal(daemon.asked[0]?.kind, "TE1 bridge");
  assert.equal(daemon.asked[0]?.environment, "");
  assert.equal(daemon.asked[3]?.environment, `PATH=${process.env["PATH"]}`);
  assert.equal(new Set(daemon.asked.map((asked) => asked.deliveryId)).size, 4);
  assert.deepEqual(spooled(), []);
});

test("what was taken is confirmed, and what could not be taken is not", async () => {
  const daemon = await FakeDaemon.listen(say(REDIRECT));
  const bridge = new Bridge(installed);
  const taken: Said[] = [];
  await bridge.call("tool_result", {}, (said) => taken.push(said));
  await until(() => daemon.confirmed === 1);
  await bridge.call("tool_result", {}, () => {
    throw new Error("the agent is gone");
  });
  await bridge.call("tool_result", {}, (said) => taken.push(said));
  await until(() => daemon.confirmed === 2);
  assert.deepEqual(taken, [{ context: "look again" }, { context: "look again" }]);
  assert.equal(daemon.connections, 2);
});

/** Answers each request when the test lets it. */
class Held {
  readonly waiting: (() => void)[] = [];
  readonly answer: Answer = (asked, socket) => {
    const text = JSON.parse(asked.payload).reply ?? "{}";
    this.waiting.push(() => say(text)(asked, socket));
  };

  async release(): Promise<void> {
    await until(() => this.waiting.length > 0);
    this.waiting.shift()?.();
  }
}

async function isOver(call: Promise<void>): Promise<boolean> {
  return Promise.race([call.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);
}

const STEP = { stepOf: "session" };

test("as many steps as the daemon called quiet are not waited for, and told in order all the same", async () => {
  const held = new Held();
  const daemon = await FakeDaemon.listen(held.answer);
  const bridge = new Bridge(installed);
  const step = (number: number, quiet = 0) =>
    bridge.call("turn_end", { number, reply: JSON.stringify({ quiet }) }, undefined, STEP);
  const first = step(1, 2);
  assert.equal(await isOver(first), false);
  await held.release();
  await first;
  const later = [step(2, 1), step(3, 1)];
  assert.deepEqual(await Promise.all(later.map(isOver)), [true, true]);
  const awaited = step(4);
  assert.equal(await isOver(awaited), false);
  for (let count = 0; count < 3; count += 1) await held.release();
  await awaited;
  const numbers = daemon.asked.map((asked) => JSON.parse(asked.payload).number);
  assert.deepEqual(numbers, [1, 2, 3, 4]);
  assert.equal(daemon.confirmed, 0);
});

test("another session's steps are waited for", async () => {
  await FakeDaemon.listen(say('{"quiet": 5}'));
  const bridge = new Bridge(installed);
  await bridge.call("turn_end", {}, undefined, STEP);
  assert.equal(await isOver(bridge.call("turn_end", {}, undefined, { stepOf: "another" })), false);
  assert.equal(await isOver(bridge.call("turn_end", {}, undefined, STEP)), true);
});

test("what is said to a step that nobody waits for is left for the next one", async () => {
  const daemon = await FakeDaemon.listen((asked, socket) => say(JSON.parse(asked.payload).reply)(asked, socket));
  const bridge = new Bridge(installed);
  const taken: Said[] = [];
  const step = (reply: string) => bridge.call("turn_end", { reply }, (said) => taken.push(said), STEP);
  await step('{"quiet": 1}');
  await step(REDIRECT);
  await step(REDIRECT);
  await until(() => daemon.confirmed === 1);
  assert.deepEqual(taken, [{ context: "look again" }]);
  assert.equal(daemon.connections, 2);
});

test("a step that nobody waits for is spooled where the daemon left, and the next one is waited for", async () => {
  const daemon = await FakeDaemon.listen(say('{"quiet": 5}'));
  const bridge = new Bridge(installed);
  await bridge.call("turn_end", {}, undefined, STEP);
  await daemon.close();
  await bridge.call("turn_end", { number: 2 }, undefined, STEP);
  await until(() => spooled().some((file) => file.endsWith('{"number":2}')));
  assert.equal(await isOver(bridge.call("turn_end", {}, undefined, STEP)), false);
});

test("what is never answered is not waited for, and what comes after it waits for it", async () => {
  const held = new Held();
  const daemon = await FakeDaemon.listen(held.answer);
  const bridge = new Bridge(installed);
  assert.equal(await isOver(bridge.call("prompt", {}, undefined, { isWaitedFor: false })), true);
  const end = bridge.call("session_shutdown", {});
  await held.release();
  await held.release();
  await end;
  assert.deepEqual(
    daemon.asked.map((asked) => asked.event),
    ["prompt", "session_shutdown"],
  );
});

test("without a daemon a call is spooled whole and one daemon is started, without the agent's environment", async () => {
  process.env["OTHER"] = "a key";
  const daemon = ["/bin/sh", "-c", 'echo "$TOKENECONOMIZER_HOME $OTHER" >> started'];
  const bridge = new Bridge({ ...installed, daemon });
  await bridge.call("tool_result", { text: "ä" });
  await bridge.call("tool_result", { text: "b" });
  const files = spooled();
  assert.equal(files.length, 2);
  assert.match(
    files[0] ?? "",
    /^TE1 spool pi tool_result extension \d{19} [0-9a-f]{32} 2 13\n\{\}\{"text":"ä"\}$/,
  );
  await until(() => fs.existsSync(path.join(home, "started")) && fs.statSync(path.join(home, "started")).size > 0);
  assert.equal(fs.readFileSync(path.join(home, "started"), "utf8"), `${home} \n`);
});

test("without a daemon a start is given the facts on disk, and what it was given is spooled", async () => {
  const checkout = path.join(home, "project");
  const inside = path.join(checkout, "src");
  fs.mkdirSync(inside, { recursive: true });
  fs.mkdirSync(path.join(checkout, ".git"));
  fs.mkdirSync(path.join(home, "repos"));
  const configuration = path.join(home, "config.yaml");
  fs.writeFileSync(configuration, "loopguard: off\n");
  const { mtimeNs, size } = fs.statSync(configuration, { bigint: true });
  const starts = `{"configuration": [${mtimeNs}, ${size}], "checkouts": {"${checkout}": {"pi": "block.md"}}}`;
  fs.writeFileSync(path.join(home, "repos", "starts.json"), starts);
  fs.writeFileSync(path.join(home, "repos", "block.md"), "- a fact\n");
  const taken: Said[] = [];
  const bridge = new Bridge(installed);
  const take = (said: Said) => void taken.push(said);
  await bridge.call("session_start", {}, take, { isStart: true, factsOf: inside });
  await bridge.call("session_start", {}, take, { isStart: true });
  await bridge.call("session_start", {}, take, { isStart: true, factsOf: home });
  fs.writeFileSync(configuration, "microskills: off\n");
  await bridge.call("session_start", {}, take, { isStart: true, factsOf: inside });
  assert.deepEqual(taken, [{ context: "- a fact\n" }]);
  const replies = spooled().map((file) => file.slice(file.indexOf("\n") + 1));
  assert.deepEqual(replies, ['{"context":"- a fact\\n"}{}', "{}{}", "{}{}", "{}{}"]);
});

test("a socket that nobody listens on any more is as good as none", async () => {
  const daemon = await FakeDaemon.listen(say("{}"));
  await daemon.die();
  assert.ok(fs.existsSync(path.join(home, "daemon.sock")));
  await new Bridge(installed).call("tool_result", {});
  assert.equal(spooled().length, 1);
});

const CONFUSED: [string, Answer][] = [
  ["hangs up before it replies", (_asked, socket) => socket.destroy()],
  ["hangs up in its reply", (_asked, socket) => socket.end("TE1 0.1.0 400\n{")],
  ["says something else", (_asked, socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n")],
  ["says nothing that ends", (_asked, socket) => socket.write("x".repeat(100_000))],
  ["promises too much", (_asked, socket) => socket.write("TE1 0.1.0 99999999999\n")],
  ["says bytes", (_asked, socket) => socket.write(Buffer.from([...Array(256).keys()]))],
];

for (const [what, answer] of CONFUSED) {
  test(`a call to a daemon that ${what} is spooled, and nothing is taken`, async () => {
    await FakeDaemon.listen(answer);
    const bridge = new Bridge(installed);
    const taken: Said[] = [];
    await bridge.call("tool_result", {}, (said) => taken.push(said));
    assert.deepEqual(taken, []);
    assert.equal(spooled().length, 1);
    assert.equal(fs.existsSync(path.join(home, "daemon.starting")), false);
  });
}

for (const text of ["no JSON", "[", "null"]) {
  test(`a reply of ${text} is not confirmed`, async () => {
    const daemon = await FakeDaemon.listen(say(text));
    const bridge = new Bridge(installed);
    await bridge.call("tool_result", {}, (said) => assert.ok(said.context));
    assert.equal(daemon.confirmed, 0);
  });
}

test("a call is over at its deadline, is spooled, and the next ones do not wait", async () => {
  const daemon = await FakeDaemon.listen(() => {});
  const bridge = new Bridge(installed);
  const began = performance.now();
  await Promise.all([1, 2, 3].map((number) => bridge.call("tool_result", { number })));
  await bridge.call("tool_result", { number: 4 });
  assert.ok(performance.now() - began < 20 * DEADLINE_MS, "each call waited");
  assert.equal(daemon.asked.length, 1);
  assert.deepEqual(
    spooled().map((file) => JSON.parse(file.slice(file.indexOf("{}") + 2)).number),
    [1, 2, 3, 4],
  );
});

test("a reply that comes after its deadline is not taken", async () => {
  const late: net.Socket[] = [];
  await FakeDaemon.listen((_asked, socket) => void late.push(socket));
  const taken: Said[] = [];
  await new Bridge(installed).call("tool_result", {}, (said) => taken.push(said));
  for (const socket of late) say(REDIRECT)({} as Asked, socket);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(taken, []);
});

test("a reply that came while the agent was busy is in time", async () => {
  const daemon = await FakeDaemon.listen(say(REDIRECT));
  const bridge = new Bridge(installed);
  await bridge.call("tool_result", {});
  const taken: Said[] = [];
  const call = bridge.call("tool_result", {}, (said) => taken.push(said));
  await until(() => daemon.asked.length === 2);
  const end = performance.now() + 2 * DEADLINE_MS;
  while (performance.now() < end);
  await call;
  assert.equal(taken.length, 1);
  assert.deepEqual(spooled(), []);
});

test("after a restart of the daemon the same call reaches the new one", async () => {
  const first = await FakeDaemon.listen(say("{}"));
  const bridge = new Bridge(installed);
  await bridge.call("tool_result", { number: 1 });
  await first.close();
  const second = await FakeDaemon.listen(say("{}"));
  await bridge.call("tool_result", { number: 2 });
  assert.equal(second.asked.length, 1);
  assert.deepEqual(spooled(), []);
});

test("a kept connection that breaks at a call is replaced once, under the same delivery id", async () => {
  let replies = 0;
  const daemon = await FakeDaemon.listen((asked, socket) => {
    replies += 1;
    if (replies === 2) socket.destroy();
    else say("{}")(asked, socket);
  });
  const bridge = new Bridge(installed);
  await bridge.call("tool_result", {});
  await bridge.call("tool_result", {});
  assert.equal(daemon.connections, 2);
  assert.equal(daemon.asked.length, 3);
  assert.equal(daemon.asked[1]?.deliveryId, daemon.asked[2]?.deliveryId);
  assert.deepEqual(spooled(), []);
});

test("a daemon of another version is spoken with", async () => {
  const daemon = await FakeDaemon.listen(say(REDIRECT, "99.0.0-beta+1"));
  const taken: Said[] = [];
  await new Bridge(installed).call("tool_result", {}, (said) => taken.push(said));
  await until(() => daemon.confirmed === 1);
  assert.deepEqual(taken, [{ context: "look again" }]);
});

for (const name of ["tmp", "a temporary folder with a long name ".repeat(5)]) {
  test(`a home with a long path is reached with TMPDIR ${name}, and no link to it stays`, async () => {
    const long = path.join(home, "a folder with a long name ".repeat(8));
    const temporary = path.join(home, name);
    for (const folder of [long, temporary]) fs.mkdirSync(folder);
    const before = process.env["TMPDIR"];
    const links = () => fs.readdirSync("/tmp").filter((found) => /^te-[^-]{6}$/.test(found));
    const linksBefore = links();
    process.env["TMPDIR"] = temporary;
    const daemon = await FakeDaemon.listen(say("{}"), long);
    await new Bridge({ ...installed, home: long }).call("tool_result", {});
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    assert.equal(daemon.asked.length, 1);
    assert.deepEqual(fs.readdirSync(temporary), []);
    assert.deepEqual(links(), linksBefore);
  });
}

test("the environment's home goes before the one that was installed, unless it is relative", async () => {
  const daemon = await FakeDaemon.listen(say("{}"));
  process.env["TOKENECONOMIZER_HOME"] = home;
  await new Bridge({ ...installed, home: "/nowhere" }).call("tool_result", {});
  process.env["TOKENECONOMIZER_HOME"] = "in/the/repository";
  await new Bridge(installed).call("tool_result", {});
  assert.equal(daemon.asked.length, 2);
});

for (const [what, answer] of [["an idle", say("{}")], ["a silent", () => {}]] as [string, Answer][]) {
  test(`${what} daemon neither holds up the agent's exit nor brings it forward`, async () => {
    await FakeDaemon.listen(answer);
    const bridge = new URL("../../../hosts/bridge/bridge.ts", import.meta.url).href;
    const agent = `
      import { Bridge } from ${JSON.stringify(bridge)};
      await new Bridge(${JSON.stringify(installed)}).call("tool_result", {});
      console.log("the agent's own end");`;
    const child = childProcess.spawn(process.execPath, ["--input-type=module", "--eval", agent]);
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    const status = await new Promise((resolve) => child.on("close", resolve));
    assert.deepEqual([status, output], [0, "the agent's own end\n"]);
  });
}

test("in a side call of our own nothing is done", async () => {
  process.env["TOKENECONOMIZER_SIDE_CALL"] = "1";
  await new Bridge(installed).call("tool_result", {});
  delete process.env["TOKENECONOMIZER_SIDE_CALL"];
  assert.deepEqual(fs.readdirSync(home), []);
});

test("a full spool is left as it is", async () => {
  const folder = path.join(home, "spool");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "1"), "");
  fs.truncateSync(path.join(folder, "1"), SPOOL_BYTES_MAX);
  await new Bridge(installed).call("tool_result", {});
  assert.deepEqual(fs.readdirSync(folder), ["1"]);
});

for (const [version, leaves] of [
  ["0.0.9", true],
  ["0.1", true],
  ["0.1.0", false],
  ["0.2.0", false],
  ["1", false],
  ["0.0.9-beta", false],
] as const) {
  test(`a daemon of version ${version} is ${leaves ? "asked to leave, once" : "left alone"} after an upgrade`, async () => {
    const answer: Answer = (asked, socket) => say(asked.kind === "TE1 stop" ? '{"stopping": true}' : "{}", version)(asked, socket);
    const daemon = await FakeDaemon.listen(answer);
    const bridge = new Bridge({ ...installed, daemon: ["/bin/sh", "-c", "echo 1 >> started"] });
    for (const number of [1, 2, 3]) await bridge.call("tool_result", { number });
    const kinds = daemon.asked.map((asked) => asked.kind.slice(4));
    assert.deepEqual(kinds, leaves ? ["bridge", "stop", "bridge", "bridge"] : ["bridge", "bridge", "bridge"]);
    assert.equal(fs.existsSync(path.join(home, "daemon.starting")), leaves);
    if (leaves) await until(() => fs.existsSync(path.join(home, "started")));
    assert.deepEqual(spooled(), []);
  });
}

test("a home that cannot be written costs nothing but the call", async () => {
  fs.writeFileSync(path.join(home, "file"), "");
  const bridge = new Bridge({ ...installed, home: path.join(home, "file", "below") });
  await bridge.call("tool_result", {});
});

test("a payload that is no JSON, or too large, is dropped", async () => {
  const daemon = await FakeDaemon.listen(say("{}"));
  const bridge = new Bridge(installed);
  const circle: { self?: object } = {};
  circle.self = circle;
  await bridge.call("tool_result", circle);
  await bridge.call("tool_result", { numbers: Array(PAYLOAD_BYTES_MAX).fill(1) });
  assert.deepEqual([daemon.asked, spooled()], [[], []]);
});

for (const [texts, part] of [
  [1, 100_000],
  [20, 10_000],
  [400, 1_000],
] as const) {
  test(`of ${texts} long texts ${part} characters are left at each end`, () => {
    const text = "a".repeat(150_000) + "b".repeat(150_000);
    const bytes = encoded({ short: "short", texts: Array(texts).fill(text) }) ?? Buffer.alloc(0);
    assert.ok(bytes.length <= PAYLOAD_BYTES_MAX);
    const left = "a".repeat(part) + "\n" + "b".repeat(part);
    assert.deepEqual(JSON.parse(bytes.toString()), { short: "short", texts: Array(texts).fill(left) });
  });
}
