/**
 * The sessions of opencode that its plugin has heard of, and what is told of them: the same for 1.x and 2.x.
 *
 * Payloads are those of the hooks of 1.x, in `payload.py`'s words; opencode keeps no system prompt, so that what a
 * session was given is asked of the daemon once a process, and kept beside for when there is none.
 */

import * as files from "node:fs/promises";
import { join } from "node:path";

import { within } from "../bridge/bridge.ts";
import type { Bridge, Options, Said } from "../bridge/bridge.ts";

/** Foreign objects, of which few members are known. */
export type Foreign = any;

/** What a hook takes at most: the bridge's own deadlines, of a start that waits for the call before it. */
const HOOK_MS = 1_500;
/** Time enough for a start to be told; then a request goes out as it is, and all later ones of its session alike. */
const START_MS = 1_300;
/** opencode answers from its own process, in some ten milliseconds. */
const LOOK_UP_MS = 300;
/** opencode is at its end, and what is on its way takes a millisecond. */
const FAREWELL_MS = 500;
/** A session that nobody resumed for so long has lost its prompt cache weeks ago. */
const GIVEN_KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
/** A file's name: opencode's ids have some thirty letters and digits. */
const SESSION_ID = /^[A-Za-z0-9_-]{1,100}$/;

/** A session that this process has heard of. */
export interface Session {
  /** The session whose sub-agent it is, or empty. */
  parent: string;
  /** Resolves when its start is told. */
  begun: Promise<void>;
  /** What the system prompt of each of its requests ends with. */
  facts: string;
  /** Whether a request went out, so that the facts may not change any more. */
  isFixed: boolean;
  /** The newest reply of the model. */
  reply: string;
  /** The agent and model of the newest prompt: what is said in the user's place must not change them. */
  speaker: Foreign;
  /** The reply that sums up the conversation, while it is written. */
  summary: { id: string; characters: number; trigger: string };
}

/** Make a hook of ours that neither throws nor keeps opencode waiting: one that fails has said nothing. */
export function quietly<Words extends unknown[]>(
  hook: (...words: Words) => unknown,
): (...words: Words) => Promise<void> {
  return async (...words) => {
    const work = (async () => hook(...words))();
    await within(HOOK_MS, work);
  };
}

/** The folders that this process has registered for: a second registration would tell everything twice. */
function registered(): Set<string> {
  const place = globalThis as Foreign;
  return (place[Symbol.for("tokeneconomizer.opencode")] ??= new Set<string>());
}

/** Whether this is the first registration for a folder, which alone tells anything. */
export function register(folder: string): boolean {
  if (registered().has(folder)) return false;
  registered().add(folder);
  return true;
}

/** What a tool's result says to the model; a tool of an MCP server has parts in place of one text. */
export function textOf(result: Foreign): string {
  if (typeof result?.output === "string") return result.output;
  const content = result?.content;
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.map((part: Foreign) => part?.text) : [];
  return texts.filter((text: unknown) => typeof text === "string").join("\n");
}

/** Have the model read a text beside a tool's result; throws where there is no place for it. */
export function addTo(result: Foreign, text: string): void {
  if (typeof result.output === "string") result.output += `\n\n${text}`;
  else if (typeof result.content === "string") result.content += `\n\n${text}`;
  else if (Array.isArray(result.content)) result.content.push({ type: "text", text });
  else throw new TypeError("no text");
}

/** The sessions of one folder, and what is told of them; the same for both generations. */
export class Sessions {
  private readonly bridge: Bridge;
  private readonly home: string;
  private readonly folder: string;
  private readonly lookUp: (sessionID: string) => Promise<Foreign>;
  private readonly loadedAt = Date.now();
  private readonly known = new Map<string, Session>();
  /** The tools that requests are made with, until that is told: with the next call. */
  offered: Foreign[] = [];

  /** `home` is the folder of all state; `lookUp` asks opencode for a session's own record. */
  constructor(bridge: Bridge, home: string, folder: string, lookUp: (sessionID: string) => Promise<Foreign>) {
    this.bridge = bridge;
    this.home = home;
    this.folder = folder;
    this.lookUp = lookUp;
  }

  /** A session whose start was told, or undefined. */
  find(sessionID: unknown): Session | undefined {
    return typeof sessionID === "string" ? this.known.get(sessionID) : undefined;
  }

  /** Tell a session's start, once in this process; `info` is its record where opencode handed it over. */
  async begin(sessionID: string, info?: Foreign): Promise<Session> {
    const session = this.known.get(sessionID) ?? this.add(sessionID, info);
    await session.begun;
    return session;
  }

  private add(sessionID: string, info: Foreign): Session {
    const summary = { id: "", characters: 0, trigger: "" };
    const nothing = { parent: "", facts: "", isFixed: false, reply: "", speaker: undefined, summary };
    const session: Session = { ...nothing, begun: Promise.resolve() };
    this.known.set(sessionID, session);
    session.begun = this.start(sessionID, session, info).catch(() => {});
    return session;
  }

  private async start(sessionID: string, session: Session, handedOver: Foreign): Promise<void> {
    let info = handedOver;
    // Without it the session counts as one that goes on, and is given what was given before.
    if (info === undefined) await within(LOOK_UP_MS, this.lookUp(sessionID).then((found) => (info = found)));
    session.parent = typeof info?.parentID === "string" ? info.parentID : "";
    const isNew = Number(info?.time?.created) >= this.loadedAt;
    const known = { id: sessionID, parentID: info?.parentID, agent: info?.agent };
    const event = {
      type: isNew ? "session.created" : "session.resumed",
      properties: { sessionID, info: known },
    };
    const take = ({ context }: Said) => {
      if (session.isFixed) throw new Error("too late");
      session.facts = context ?? "";
    };
    const beginsAnew = isNew && session.parent === "";
    const factsOf = beginsAnew ? this.folder : undefined;
    await this.tell(event.type, sessionID, { name: "event", event }, take, { isStart: true, factsOf });
    if (isNew) await this.keepGiven(sessionID, session.facts);
    else if (session.facts === "" && !session.isFixed) session.facts = await this.given(sessionID);
  }

  /** Tell of a hook or an event; `take` does what the daemon says. */
  tell(
    event: string,
    sessionID: string,
    payload: object,
    take: (said: Said) => void = () => {},
    options: Options = {},
  ): Promise<void> {
    const parent = this.known.get(sessionID)?.parent ?? "";
    const until = performance.now() + HOOK_MS;
    const inTime = (said: Said): void => {
      // The hook is over, and what would be said now reached nobody.
      if (performance.now() >= until) throw new Error("too late");
      take(said);
    };
    return this.bridge.call(event, { ...payload, sessionID, folder: this.folder, parent }, inTime, options);
  }

  /** Tell that opencode ends, or leaves this folder. */
  async end(): Promise<void> {
    const told = [...this.known.keys()].map((id) => this.tell("dispose", id, { name: "dispose" }));
    registered().delete(this.folder);
    this.known.clear();
    await within(FAREWELL_MS, Promise.all(told));
  }

  /** A prompt that the user, or a sub-agent's parent, wrote. */
  async prompt(sessionID: string, message: Foreign, parts: Foreign[]): Promise<void> {
    const session = await this.begin(sessionID);
    const written = parts.filter((part) => !part?.synthetic && !part?.ignored);
    if (written.length === 0) return;
    session.speaker = message;
    const told = written.map(({ type, text, prompt }) => ({ type, text, prompt }));
    const output = { message: { id: message?.id }, parts: told };
    const payload = { name: "chat.message", input: { sessionID }, output };
    // Nothing is said to a prompt, so nobody need wait.
    void this.tell("chat.message", sessionID, payload, undefined, { isWaitedFor: false, stepOf: sessionID });
  }

  /** The session as a request finds it: from now on its facts stay. */
  async atRequest(sessionID: string): Promise<Session> {
    const session = this.known.get(sessionID) ?? this.add(sessionID, undefined);
    await within(START_MS, session.begun);
    session.isFixed = true;
    return session;
  }

  /** A call that came back. */
  async returned(call: Foreign, result: Foreign, hint: (text: string) => void): Promise<void> {
    const { tool, sessionID, callID } = call;
    await this.begin(sessionID);
    const tools = this.offered.length > 0 ? { tools: this.offered } : {};
    this.offered = [];
    const input = { tool, sessionID, callID, args: call.args };
    const metadata = result?.metadata && "exit" in result.metadata ? { exit: result.metadata.exit } : {};
    const output = { output: textOf(result), metadata };
    const payload = { name: "tool.execute.after", input, output, ...tools };
    const take = (said: Said): void => {
      if (said.context) addTo(result, said.context);
      if (said.hint) hint(said.hint);
    };
    await this.tell("tool.execute.after", sessionID, payload, take, { stepOf: sessionID });
  }

  /** A call that failed; `say` has the model read a text, and throws where it cannot. */
  async failed(part: Foreign, say: (text: string, session: Session) => void, hint: (text: string) => void) {
    const { tool, callID, sessionID, messageID, state } = part;
    const session = await this.begin(sessionID);
    const { error, metadata, time } = state;
    const told = { status: "error", input: state.input, error: String(error), metadata, time };
    const properties = { sessionID, part: { type: "tool", tool, callID, sessionID, messageID, state: told } };
    const event = { type: "message.part.updated", properties };
    const take = (said: Said): void => {
      if (said.context) say(said.context, session);
      if (said.hint) hint(said.hint);
    };
    await this.tell(event.type, sessionID, { name: "event", event }, take, { stepOf: sessionID });
  }

  private givenFile(sessionID: string): string {
    if (!SESSION_ID.test(sessionID)) throw new TypeError("no id");
    return join(this.home, "given", sessionID);
  }

  /** The facts that a session was given by an earlier process, where no daemon knows them. */
  private async given(sessionID: string): Promise<string> {
    return files.readFile(this.givenFile(sessionID), "utf8").catch(() => "");
  }

  /** Keep what a session is given: opencode does not, and without it a resumed session's prompt would change. */
  private async keepGiven(sessionID: string, facts: string): Promise<void> {
    if (facts === "") return;
    const file = this.givenFile(sessionID);
    const folder = join(file, "..");
    await files.mkdir(folder, { recursive: true, mode: 0o700 });
    await files.writeFile(file, facts, { mode: 0o600 });
    for (const name of await files.readdir(folder)) {
      const old = join(folder, name);
      if ((await files.stat(old)).mtimeMs < Date.now() - GIVEN_KEPT_MS) await files.unlink(old);
    }
  }
}
