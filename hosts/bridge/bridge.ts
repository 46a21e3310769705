/**
 * The part that lives in an agent's process: its calls to the daemon over one kept connection (docs/bridge.md).
 *
 * Nothing here throws, rejects or waits without a deadline: an agent ends at an `error` event that nobody hears
 * and at a rejection that nobody catches, and has no time limit of its own (Pi 1.6.0, opencode 1.18.33).
 * Rendered into each agent's one file, so it imports what is part of the runtime alone.
 */

import * as childProcess from "node:child_process";
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";

/** What `te setup` knows and an agent's process does not. */
export interface Installed {
  /** The agent's name, as the daemon knows it. */
  host: string;
  /** By which registration the agent loads this file. */
  via: string;
  /** The program's version that rendered it. */
  version: string;
  /** The folder of all state, where the environment names no other. */
  home: string;
  /** Starts a daemon: the program and its arguments. */
  daemon: readonly string[];
  /** Variables that go along with a session's start. */
  environmentNames: readonly string[];
}

/** What the daemon says to a call; empty members are left out. */
export interface Said {
  /** For the model. */
  context?: string;
  /** For the user. */
  hint?: string;
  /** To how many further steps of the session there certainly is nothing to say. */
  quiet?: number;
}

/** What a call is about. */
export interface Options {
  /** Sends the listed environment along. */
  isStart?: boolean;
  /** The folder of a session that begins anew: without a daemon it is given the facts that lie on disk. */
  factsOf?: string | undefined;
  /** The session of a step, or of a prompt: who tells a step does not wait where nothing is to be said to it. */
  stepOf?: string;
  /** False where nothing is ever said: nobody waits for it. */
  isWaitedFor?: boolean;
}

/** A person does not notice it, and a daemon at work answers in a millisecond. */
export const DEADLINE_MS = 250;
/** A start is told once, and what is said to it holds for the whole session: it waits as the hook client does. */
export const START_DEADLINE_MS = 750;
/** One small file: when that takes longer the disk hangs, and the agent goes first. */
export const SPOOLING_MS = 250;
/** A daemon that missed a deadline is left alone for a while: an agent waits for it once, not at every step. */
export const SLOW_PAUSE_MS = 10_000;
/** A crowd of agents that finds no daemon must not start a crowd of daemons; one has long been up by then. */
export const DAEMON_START_INTERVAL_MS = 5_000;
/** Weeks of work without a daemon. Beyond these the disk is worth more than the history. */
export const SPOOL_FILES_MAX = 10_000;
export const SPOOL_BYTES_MAX = 256 * 1024 * 1024;
/** The daemon reads up to 8 MiB; what an agent tells of one step takes a few KiB. */
export const PAYLOAD_BYTES_MAX = 1024 * 1024;
/**
 * What is left of a long text, at its beginning and again at its end: either tells what ran and how it ended.
 * The smaller ones are for payloads that are too large with the first.
 */
export const TEXT_PARTS_CHARACTERS = [100_000, 10_000, 1_000];
/** No reply comes near it: a longer one is not from our daemon. */
export const REPLY_BYTES_MAX = 1024 * 1024;
/** "TE1 <version> <length>\n" takes about twenty. */
const REPLY_HEADER_BYTES_MAX = 128;
/** A socket's path may have 104 bytes on macOS and 108 on Linux, its end included. */
const SOCKET_PATH_BYTES_MAX = 103;

/** The daemon's own limit is less than half of it. */
const BLOCK_BYTES_MAX = 9_000;

const SOCKET_NAME = "daemon.sock";
/** Of the link to a home whose path is too long for a socket's. */
const LINK_NAME = "home";
const NOTHING_SAID = "{}";
/** Set in the environment of our own calls through an agent: answering them would make sessions of sessions. */
const SIDE_CALL_MARK = "TOKENECONOMIZER_SIDE_CALL";
/** What a daemon needs to find its state and its programs. */
const DAEMON_ENVIRONMENT_NAMES = ["HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "GIT_CEILING_DIRECTORIES"];

/** Why a call got no reply. */
type Failure = "absent" | "broken" | "late" | "paused";

/** One call on its way. */
interface Call {
  event: string;
  timeNs: bigint;
  deliveryId: string;
  environment: Buffer;
  payload: Buffer;
  take: (said: Said) => void;
  /** The working folder of a session that begins anew, whose facts may be read from disk. */
  factsOf: string | undefined;
  /** The session whose step this is; undefined of what is none. */
  stepOf: string | undefined;
  /** To how many steps after it there is nothing to say, once the daemon replied. */
  quiet: number;
  /** Given up: whatever still happens to it must not be sent, nor taken. */
  isLate: boolean;
}

/** The folder of all state; a relative one is passed over, for it would lie in the user's repository. */
export function stateHome(installed: Installed): string {
  const chosen = process.env["TOKENECONOMIZER_HOME"] ?? "";
  return chosen.startsWith("/") ? chosen : installed.home;
}

/** The payload's bytes, its long texts cut until they fit; undefined where nothing helps. */
export function encoded(payload: object): Buffer | undefined {
  for (const part of TEXT_PARTS_CHARACTERS) {
    const cut = (_name: string, value: unknown) =>
      typeof value === "string" && value.length > 2 * part ? `${value.slice(0, part)}\n${value.slice(-part)}` : value;
    const bytes = Buffer.from(JSON.stringify(payload, cut));
    if (bytes.length <= PAYLOAD_BYTES_MAX) return bytes;
  }
  return undefined;
}

/** Run `work` for at most `ms`; resolves in any case, to whether it came to its end. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isOver = new Promise<boolean>((resolve) => {
    // A busy agent comes to its timers before it comes to what has long arrived: that goes first.
    timer = setTimeout(() => setImmediate(() => resolve(false)), ms);
  });
  const ended = work.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([ended, isOver]);
  } finally {
    clearTimeout(timer);
  }
}

/** The replies on one connection, which come one by one in the order of their requests. */
class Connection {
  isOpen = true;
  /** Whether a request was answered on it: one that breaks then may only be of a daemon that left. */
  isProven = false;
  /** The daemon's version, once it replied. */
  version = "";
  private isConnected = false;
  private received: Buffer = Buffer.alloc(0);
  private settle: ((reply: string | Failure, isReply: boolean) => void) | undefined;
  private readonly socket: net.Socket;

  constructor(socketPath: string) {
    this.socket = new net.Socket();
    // Before anything else: an error that nobody hears would end the agent.
    this.socket.on("error", () => this.end(this.isConnected ? "broken" : "absent"));
    this.socket.on("connect", () => (this.isConnected = true));
    this.socket.on("close", () => this.end("broken"));
    this.socket.on("end", () => this.end("broken"));
    this.socket.on("data", (chunk: Buffer) => this.take(chunk));
    this.socket.connect({ path: socketPath });
  }

  /** Send a request and wait for its reply; `isReply` tells it from a failure. */
  ask(request: Buffer): Promise<{ text: string; isReply: boolean }> {
    return new Promise((resolve) => {
      this.settle = (text, isReply) => {
        this.settle = undefined;
        // Between two calls nothing of ours keeps the agent from its end.
        this.socket.unref();
        resolve({ text, isReply });
      };
      if (!this.isOpen) return this.settle("broken", false);
      this.socket.ref();
      this.socket.write(request);
    });
  }

  /** Tell the daemon that the agent has what the reply said. */
  confirm(): void {
    if (this.isOpen) this.socket.write("+");
  }

  /** Hang up. */
  end(failure: Failure): void {
    this.isOpen = false;
    this.socket.destroy();
    this.settle?.(failure, false);
  }

  private take(chunk: Buffer): void {
    // What nobody asked for is not from our daemon.
    if (this.settle === undefined) return this.end("broken");
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const lineEnd = this.received.indexOf(0x0a);
    if (lineEnd < 0) {
      if (this.received.length > REPLY_HEADER_BYTES_MAX) this.end("broken");
      return;
    }
    const header = /^TE1 ([!-~]{1,64}) (0|[1-9][0-9]{0,9})$/.exec(this.received.toString("latin1", 0, lineEnd));
    const length = Number(header?.[2] ?? Infinity);
    if (length > REPLY_BYTES_MAX) return this.end("broken");
    const replyEnd = lineEnd + 1 + length;
    if (this.received.length < replyEnd) return;
    const reply = this.received.toString("utf8", lineEnd + 1, replyEnd);
    this.received = this.received.subarray(replyEnd);
    this.isProven = true;
    this.version = header?.[1] ?? "";
    this.settle(reply, true);
  }
}

/** How many steps of a session the daemon has nothing to say to, and how many of them are on their way. */
class Quiet {
  private promised = 0;
  private onTheirWay = 0;

  /** A step begins; returns whether nobody need wait for it. */
  begin(): boolean {
    this.onTheirWay += 1;
    return this.onTheirWay <= this.promised;
  }

  /** A step is over; what the daemon said of those after it replaces what it said before. */
  end(promised: number): void {
    this.onTheirWay -= 1;
    this.promised = promised;
  }
}

/** The way to the daemon, kept for as long as the agent's process lives. */
export class Bridge {
  /** False in a side call of our own, and where no home is known: then no call does anything. */
  readonly isOn: boolean;
  private readonly installed: Installed;
  private readonly home: string;
  private connection: Connection | undefined;
  private calls: Promise<void> = Promise.resolve();
  private readonly steps = new Map<string, Quiet>();
  private pausedUntil = 0;
  private lastMs = 0;
  private inThisMs = 0;

  constructor(installed: Installed) {
    this.installed = installed;
    this.home = stateHome(installed);
    this.isOn = !process.env[SIDE_CALL_MARK] && this.home.startsWith("/");
  }

  /**
   * Tell the daemon of an event; resolves when that is over, within its deadline and SPOOLING_MS, and never rejects.
   * Where nothing is to be said it resolves at once, and the event is told, or spooled, all the same.
   *
   * @param event the agent's name of it
   * @param payload JSON values; long texts are cut
   * @param take does what the daemon says, before the call resolves; what it does not take counts as not said
   * @param options what the call is about
   */
  call(
    event: string,
    payload: object,
    take: (said: Said) => void = () => {},
    options: Options = {},
  ): Promise<void> {
    if (!this.isOn) return Promise.resolve();
    try {
      const bytes = encoded(payload);
      if (bytes === undefined) return Promise.resolve();
      const isQuiet = options.stepOf !== undefined && this.stepsOf(options.stepOf).begin();
      const isWaitedFor = options.isWaitedFor !== false && !isQuiet;
      const call: Call = {
        event,
        timeNs: this.now(),
        deliveryId: crypto.randomBytes(16).toString("hex"),
        environment: options.isStart ? this.listedEnvironment() : Buffer.alloc(0),
        payload: bytes,
        take: isWaitedFor ? take : refuse,
        factsOf: options.factsOf,
        stepOf: options.stepOf,
        quiet: 0,
        isLate: false,
      };
      const deadline = performance.now() + (options.isStart ? START_DEADLINE_MS : DEADLINE_MS);
      // One after the other: the daemon stores them in this order.
      this.calls = this.calls.then(() => this.deliver(call, deadline)).catch(() => {});
      return isWaitedFor ? this.calls : Promise.resolve();
    } catch {
      return Promise.resolve();
    }
  }

  private stepsOf(session: string): Quiet {
    const known = this.steps.get(session) ?? new Quiet();
    this.steps.set(session, known);
    return known;
  }

  private async deliver(call: Call, deadline: number): Promise<void> {
    const failure = await this.ask(call, deadline);
    if (call.stepOf !== undefined) this.stepsOf(call.stepOf).end(failure === undefined ? call.quiet : 0);
    if (failure === undefined) {
      const connection = this.connection;
      if (connection && isOlder(connection.version, this.installed.version)) {
        await within(SPOOLING_MS, this.takeOver(connection));
      }
      return;
    }
    if (failure === "late") this.pausedUntil = Date.now() + SLOW_PAUSE_MS;
    const said = call.factsOf === undefined ? {} : await this.saidFromDisk(call.factsOf);
    const isKept = await within(SPOOLING_MS, this.spool(call, said));
    // What is not kept is not given: each injection is an event.
    if (isKept && said.context) attempt(() => call.take(said));
    if (failure === "absent") await within(SPOOLING_MS, this.startDaemonOnce());
  }

  private async ask(call: Call, deadline: number): Promise<Failure | undefined> {
    const pause = this.pausedUntil - Date.now();
    // A longer one means that the clock was set back.
    if (pause > 0 && pause <= SLOW_PAUSE_MS) return "paused";
    const left = deadline - performance.now();
    if (left <= 0) return "late";
    let failure: Failure | undefined;
    const isOver = await within(
      left,
      this.exchange(call).then((result) => (failure = result)),
    );
    if (isOver) return failure;
    call.isLate = true;
    this.connection?.end("late");
    return "late";
  }

  /** Ask on the kept connection, and on a new one where a daemon left since the last call. */
  private async exchange(call: Call): Promise<Failure | undefined> {
    for (;;) {
      const kept = this.connection?.isOpen === true ? this.connection : undefined;
      const connection = kept ?? (await this.connect());
      if (call.isLate || connection === undefined) return "absent";
      const { text, isReply } = await connection.ask(this.request(call));
      if (call.isLate) return "late";
      if (isReply) return this.taken(text, call, connection);
      if (kept?.isProven !== true) return text as Failure;
    }
  }

  private taken(text: string, call: Call, connection: Connection): Failure | undefined {
    if (text.trim() === NOTHING_SAID) return undefined;
    try {
      const said = JSON.parse(text) as Said;
      if (Number.isInteger(said.quiet)) call.quiet = said.quiet as number;
      if (said.context || said.hint) {
        call.take(said);
        connection.confirm();
      }
    } catch {
      // Unconfirmed, so that the daemon says it again.
      connection.end("broken");
    }
    return undefined;
  }

  private async connect(): Promise<Connection | undefined> {
    let folder: string | undefined;
    try {
      // Keys must not go to another user's daemon.
      if ((await fs.promises.stat(this.home)).uid !== process.getuid?.()) return undefined;
      let socketPath = path.join(this.home, SOCKET_NAME);
      if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
        // The agent's working folder is not ours to change, so a short link stands in for a long home.
        folder = await fs.promises.mkdtemp(path.join(shortTemporaryFolder(), "te-"));
        await fs.promises.symlink(this.home, path.join(folder, LINK_NAME));
        socketPath = path.join(folder, LINK_NAME, SOCKET_NAME);
      }
      // A local connection stands, or fails, before this returns: then the link has served.
      this.connection = new Connection(socketPath);
      return this.connection;
    } catch {
      return undefined;
    } finally {
      if (folder !== undefined) await removeLink(folder);
    }
  }

  private request(call: Call): Buffer {
    const { host, via } = this.installed;
    const header =
      `TE1 bridge ${host} ${call.event} ${via} ${call.timeNs} ${call.deliveryId}` +
      ` ${call.environment.length} ${call.payload.length}\n`;
    return Buffer.concat([Buffer.from(header), call.environment, call.payload]);
  }

  private listedEnvironment(): Buffer {
    const listed = this.installed.environmentNames.filter((name) => process.env[name] !== undefined);
    return Buffer.from(listed.map((name) => `${name}=${process.env[name]}`).join("\0"));
  }

  /** Nanoseconds since 1970, another number for each call. */
  private now(): bigint {
    const ms = Date.now();
    this.inThisMs = ms === this.lastMs ? this.inThisMs + 1 : 0;
    this.lastMs = ms;
    // The daemon keeps microseconds.
    return BigInt(ms) * 1_000_000n + BigInt(this.inThisMs) * 1_000n;
  }

  /** The facts of the checkout that a folder lies in, from the files that the daemon left. */
  private async saidFromDisk(folder: string): Promise<Said> {
    let said: Said = {};
    await within(
      SPOOLING_MS,
      this.factsOnDisk(folder).then((text) => (said = text ? { context: text } : {})),
    );
    return said;
  }

  private async factsOnDisk(folder: string): Promise<string> {
    const repositories = path.join(this.home, "repos");
    const starts = JSON.parse(await fs.promises.readFile(path.join(repositories, "starts.json"), "utf8"));
    const name = starts.checkouts[await checkoutOf(folder)]?.[this.installed.host];
    const found = await fs.promises.stat(path.join(this.home, "config.yaml"), { bigint: true }).catch(() => null);
    const stamp = found === null ? [] : [Number(found.mtimeNs), Number(found.size)];
    // The user may have turned it off since.
    if (!name || JSON.stringify(starts.configuration) !== JSON.stringify(stamp)) return "";
    const block = await fs.promises.readFile(path.join(repositories, name), "utf8");
    return Buffer.byteLength(block) <= BLOCK_BYTES_MAX ? block : "";
  }

  /** Keep a call for the next daemon, in the form of the hook client. */
  private async spool(call: Call, said: Said): Promise<void> {
    const folder = path.join(this.home, "spool");
    await this.ensureFolder(this.home);
    await this.ensureFolder(folder);
    const { host, via } = this.installed;
    const reply = Buffer.from(JSON.stringify(said));
    const header =
      `TE1 spool ${host} ${call.event} ${via} ${call.timeNs} ${call.deliveryId}` +
      ` ${reply.length} ${call.payload.length}\n`;
    const content = Buffer.concat([Buffer.from(header), reply, call.payload]);
    if (!(await hasRoom(folder, content.length))) throw new Error("the spool is full");
    const name = `${call.timeNs}-${process.pid}-${call.deliveryId}`;
    const unfinished = path.join(folder, `.${name}.tmp`);
    const file = await fs.promises.open(unfinished, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.promises.rename(unfinished, path.join(folder, name));
  }

  /** Make a folder of ours; one of another user would lock that user's own daemon out. */
  private async ensureFolder(folder: string): Promise<void> {
    await fs.promises.mkdir(folder, { recursive: true, mode: 0o700 });
    if ((await fs.promises.stat(folder)).uid !== process.getuid?.()) throw new Error("another user's home");
  }

  /** After an upgrade: have an older daemon leave and start this program's own, once among all agents. */
  private async takeOver(connection: Connection): Promise<void> {
    if (!(await this.takesTurnToStart())) return;
    const id = crypto.randomBytes(16).toString("hex");
    await connection.ask(Buffer.from(`TE1 stop - - - ${this.now()} ${id} 0 0\n`));
    connection.end("broken");
    // The new one waits for the lock until the old one has finished what it is at.
    this.startDaemon();
  }

  private async startDaemonOnce(): Promise<void> {
    if (await this.takesTurnToStart()) this.startDaemon();
  }

  /** Whether this agent is the one of all that may start a daemon now: nobody did within DAEMON_START_INTERVAL_MS. */
  private async takesTurnToStart(): Promise<boolean> {
    const stamp = path.join(this.home, "daemon.starting");
    const startedMs = Number(await fs.promises.readFile(stamp, "utf8").catch(() => "0")) / 1_000_000;
    const ago = Date.now() - startedMs;
    // A stamp from the future means that the clock was set back.
    if (ago >= 0 && ago < DAEMON_START_INTERVAL_MS) return false;
    // As the hook client writes it; two that come at once start two daemons, of which the second leaves.
    await fs.promises.writeFile(stamp, String(this.now()).padEnd(32), { mode: 0o600 });
    return true;
  }

  private startDaemon(): void {
    const [program, ...words] = this.installed.daemon;
    if (program === undefined) return;
    const child = childProcess.spawn(program, words, {
      cwd: this.home,
      detached: true,
      stdio: "ignore",
      env: this.daemonEnvironment(),
    });
    child.on("error", () => {});
    child.unref();
  }

  private daemonEnvironment(): NodeJS.ProcessEnv {
    const environment: NodeJS.ProcessEnv = { TOKENECONOMIZER_HOME: this.home };
    for (const name of DAEMON_ENVIRONMENT_NAMES) {
      if (process.env[name] !== undefined) environment[name] = process.env[name];
    }
    return environment;
  }
}

/** The folder above that git works in, as far as the user's home; else the folder itself. */
async function checkoutOf(folder: string): Promise<string> {
  const home = await fs.promises.realpath(process.env["HOME"] ?? "/");
  const start = await fs.promises.realpath(folder);
  let above = start;
  while (!(await isThere(path.join(above, ".git")))) {
    if (above === home || above === path.dirname(above)) return start;
    above = path.dirname(above);
  }
  return above === start || above !== home ? above : start;
}

async function isThere(file: string): Promise<boolean> {
  return fs.promises.lstat(file).then(
    () => true,
    () => false,
  );
}

/** Compare the numbers; a version that is none is left alone, as a newer program's may be. */
function isOlder(daemon: string, program: string): boolean {
  const [left, right] = [daemon, program].map((version) => version.split(".").map(Number)) as [number[], number[]];
  if ([...left, ...right].some((part) => !Number.isInteger(part))) return false;
  const at = right.findIndex((part, index) => part !== left[index]);
  return at >= 0 && (left[at] ?? -1) < (right[at] ?? 0);
}

/** Take nothing: nobody waits any more, and what is not taken is said again to the next step. */
function refuse(): never {
  throw new Error("too late");
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The agent goes on without it.
  }
}

async function hasRoom(folder: string, size: number): Promise<boolean> {
  const names = await fs.promises.readdir(folder);
  if (names.length >= SPOOL_FILES_MAX) return false;
  const sizes = await Promise.all(
    names.map((name) =>
      fs.promises.lstat(path.join(folder, name)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, one) => sum + one, size) <= SPOOL_BYTES_MAX;
}

function shortTemporaryFolder(): string {
  const usual = os.tmpdir();
  const below = path.join("te-XXXXXX", LINK_NAME, SOCKET_NAME);
  return Buffer.byteLength(path.join(usual, below)) <= SOCKET_PATH_BYTES_MAX ? usual : "/tmp";
}

async function removeLink(folder: string): Promise<void> {
  try {
    await fs.promises.unlink(path.join(folder, LINK_NAME));
    await fs.promises.rmdir(folder);
  } catch {
    // Whatever cleans the folder of temporary files finds a link there.
  }
}
