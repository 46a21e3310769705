/**
 * opencode's part: what its hooks tell, and where what the daemon says is put (docs/bridge.md).
 *
 * One default export serves both generations: 1.x calls `server`, 2.x calls `setup`, and 1.18.33 calls both, `setup`
 * with a reduced context. A throw in most hooks costs the user a turn or a tool's output, and no hook has a time limit
 * (1.18.33): so each of them goes through `quietly`.
 */

import * as files from "node:fs/promises";
import { join } from "node:path";

import { Bridge, stateHome } from "../bridge/bridge.ts";
import type { Installed, Said } from "../bridge/bridge.ts";

declare const INSTALLED: Installed;

/** Foreign objects, of which few members are known. */
type Foreign = any;

/** What a hook takes at most: the bridge's own deadlines, of a start that waits for the call before it. */
const HOOK_MS = 1_500;
/** opencode is at its end, and what is on its way takes a millisecond. */
const FAREWELL_MS = 500;
/** A session that nobody resumed for so long has lost its prompt cache weeks ago. */
const GIVEN_KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
/** A file's name: opencode's ids have some thirty letters and digits. */
const SESSION_ID = /^[A-Za-z0-9_-]{1,100}$/;
/** The words that opencode's request for a title begins with; it has the session's id like any other. */
const TITLE_PROMPT = "You are a title generator";

/** A session that this process has heard of. */
interface Session {
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

/** Run a hook so that it neither throws nor keeps opencode waiting. */
function quietly<Words extends unknown[]>(hook: (...words: Words) => unknown): (...words: Words) => Promise<void> {
  return async (...words) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      const isOver = new Promise((resolve) => {
        timer = setTimeout(resolve, HOOK_MS);
      });
      const work = Promise.resolve(hook(...words)).catch(() => {});
      await Promise.race([work, isOver]);
    } catch {
      // A hook of ours that fails is a hook that said nothing.
    } finally {
      clearTimeout(timer);
    }
  };
}

/** The folders that this process has registered for: a second registration would tell everything twice. */
function registered(): Set<string> {
  const place = globalThis as Foreign;
  return (place[Symbol.for("tokeneconomizer.opencode")] ??= new Set<string>());
}

function register(folder: string): boolean {
  if (registered().has(folder)) return false;
  registered().add(folder);
  return true;
}

/** What a tool's result says to the model; a tool of an MCP server has parts in place of one text. */
function textOf(result: Foreign): string {
  if (typeof result?.output === "string") return result.output;
  const content = result?.content;
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.map((part: Foreign) => part?.text) : [];
  return texts.filter((text: unknown) => typeof text === "string").join("\n");
}

/** Have the model read a text beside a tool's result; throws where there is no place for it. */
function addTo(result: Foreign, text: string): void {
  if (typeof result.output === "string") result.output += `\n\n${text}`;
  else if (typeof result.content === "string") result.content += `\n\n${text}`;
  else if (Array.isArray(result.content)) result.content.push({ type: "text", text });
  else throw new TypeError("no text");
}

/** The sessions of one folder, and what is told of them; the same for both generations. */
class Sessions {
  private readonly bridge: Bridge;
  private readonly folder: string;
  private readonly lookUp: (sessionID: string) => Promise<Foreign>;
  private readonly loadedAt = Date.now();
  private readonly known = new Map<string, Session>();
  /** The tools that requests are made with, until that is told: with the next call. */
  offered: Foreign[] = [];

  /** `lookUp` asks opencode for a session's own record. */
  constructor(bridge: Bridge, folder: string, lookUp: (sessionID: string) => Promise<Foreign>) {
    this.bridge = bridge;
    this.folder = folder;
    this.lookUp = lookUp;
  }

  /** A session whose start was told, or undefined. */
  find(sessionID: unknown): Session | undefined {
    return typeof sessionID === "string" ? this.known.get(sessionID) : undefined;
  }

  /** Tell a session's start, once in this process; `info` is its record where opencode handed it over. */
  async begin(sessionID: string, info?: Foreign): Promise<Session> {
    let session = this.known.get(sessionID);
    if (session === undefined) {
      const summary = { id: "", characters: 0, trigger: "" };
      const nothing = { parent: "", facts: "", isFixed: false, reply: "", speaker: undefined, summary };
      session = { ...nothing, begun: Promise.resolve() };
      this.known.set(sessionID, session);
      session.begun = this.start(sessionID, session, info).catch(() => {});
    }
    await session.begun;
    return session;
  }

  private async start(sessionID: string, session: Session, handedOver: Foreign): Promise<void> {
    const info = handedOver ?? (await this.lookUp(sessionID).catch(() => undefined));
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
    options: { isStart?: boolean; factsOf?: string | undefined } = {},
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
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([Promise.all(told), new Promise((resolve) => (timer = setTimeout(resolve, FAREWELL_MS)))]);
    clearTimeout(timer);
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
    void this.tell("chat.message", sessionID, payload);
  }

  /** The session as a request finds it: from now on its facts stay. */
  async atRequest(sessionID: string): Promise<Session> {
    const session = await this.begin(sessionID);
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
    await this.tell("tool.execute.after", sessionID, payload, (said) => {
      if (said.context) addTo(result, said.context);
      if (said.hint) hint(said.hint);
    });
  }

  /** A call that failed; `say` has the model read a text, and throws where it cannot. */
  async failed(part: Foreign, say: (text: string, session: Session) => void, hint: (text: string) => void) {
    const { tool, callID, sessionID, messageID, state } = part;
    const session = await this.begin(sessionID);
    const { error, metadata, time } = state;
    const told = { status: "error", input: state.input, error: String(error), metadata, time };
    const properties = { sessionID, part: { type: "tool", tool, callID, sessionID, messageID, state: told } };
    const event = { type: "message.part.updated", properties };
    await this.tell(event.type, sessionID, { name: "event", event }, (said) => {
      if (said.context) say(said.context, session);
      if (said.hint) hint(said.hint);
    });
  }

  private givenFile(sessionID: string): string {
    if (!SESSION_ID.test(sessionID)) throw new TypeError("no id");
    return join(stateHome(INSTALLED), "given", sessionID);
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

/** The hooks of 1.x. */
async function server(input: Foreign): Promise<Foreign> {
  const folder = String(input?.directory ?? "");
  const bridge = new Bridge(INSTALLED);
  if (!bridge.isOn || !register(folder)) return {};
  const client = input.client;
  const sessions = new Sessions(
    bridge,
    folder,
    async (sessionID) => (await client.session.get({ path: { id: sessionID } })).data,
  );
  const hooks = new Hooks1(sessions, client, folder);
  return {
    event: quietly(({ event }: Foreign) => hooks.event(event)),
    "chat.message": quietly(({ sessionID }: Foreign, output: Foreign) =>
      sessions.prompt(sessionID, output.message, output.parts),
    ),
    "experimental.chat.system.transform": quietly(async ({ sessionID, model }: Foreign, { system }: Foreign) => {
      if (typeof sessionID !== "string" || String(system[0]).startsWith(TITLE_PROMPT)) return;
      const session = await sessions.atRequest(sessionID);
      if (session.facts !== "") system.push(session.facts);
      void hooks.list(session, model).catch(() => {});
    }),
    "tool.execute.after": quietly((call: Foreign, result: Foreign) =>
      sessions.returned(call, result, (text) => hooks.hint(text)),
    ),
    "tool.definition": quietly(({ toolID }: Foreign) => hooks.defined(toolID)),
    dispose: quietly(() => sessions.end()),
  };
}

/** What 1.x tells by events, and how its user and its model are spoken to beside a tool's result. */
class Hooks1 {
  /** The tools of the requests so far. */
  private readonly tools = new Set<string>();
  private listedTools = "";
  private readonly sessions: Sessions;
  private readonly client: Foreign;
  private readonly folder: string;

  constructor(sessions: Sessions, client: Foreign, folder: string) {
    this.sessions = sessions;
    this.client = client;
    this.folder = folder;
  }

  async event({ type, properties }: Foreign): Promise<void> {
    if (type === "session.created" && properties.info?.directory === this.folder) {
      await this.sessions.begin(properties.info.id, properties.info);
    }
    const sessionID = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID;
    const session = this.sessions.find(sessionID);
    // Sessions of another folder are told by its own registration.
    if (session === undefined) return;
    if (type === "message.updated") this.message(session, properties.info);
    else if (type === "message.part.updated") await this.part(session, properties.part);
    else if (type === "session.compacted") this.compacted(session, sessionID);
    else if (type === "session.idle" || type === "session.error" || type === "session.deleted") {
      const error = properties.error ? { error: { name: properties.error.name } } : {};
      const event = { type, properties: { sessionID, ...error } };
      await this.sessions.tell(type, sessionID, { name: "event", event });
    }
  }

  /** A request is made with this tool. */
  defined(toolID: string): void {
    this.tools.add(toolID);
  }

  /** List the tools with the size of their definitions, when they are others than before: no hook has both. */
  async list(session: Session, model: Foreign): Promise<void> {
    const names = [...this.tools].sort().join();
    if (session.parent !== "" || names === this.listedTools) return;
    this.listedTools = names;
    const query = { provider: model?.providerID, model: model?.id };
    const listed: Foreign[] = (await this.client.tool.list({ query })).data ?? [];
    this.sessions.offered = listed
      .filter(({ id }) => this.tools.has(id))
      .map(({ id, description, parameters }) => ({
        name: id,
        characters: [...JSON.stringify({ name: id, description, parameters })].length,
      }));
  }

  /** Have the user read a text, in opencode's window; `opencode run` has none. */
  hint(message: string): void {
    const shown = this.client.tui?.showToast?.({ body: { message, variant: "warning" } });
    Promise.resolve(shown).catch(() => {});
  }

  private message(session: Session, info: Foreign): void {
    if (info?.role !== "assistant") return;
    session.reply = info.id;
    if (info.summary === true) session.summary.id = info.id;
  }

  private async part(session: Session, part: Foreign): Promise<void> {
    if (part?.type === "compaction") session.summary.trigger = part.auto === true ? "auto" : "manual";
    if (part?.type === "text" && part.messageID === session.summary.id) {
      session.summary.characters = String(part.text).length;
    }
    if (part?.type !== "tool" || part.state?.status !== "error") return;
    await this.sessions.failed(
      part,
      (text) => {
        // Behind the next reply it would make one more request, or come a step late.
        if (session.reply !== part.messageID || session.speaker === undefined) throw new Error("too late");
        this.say(part.sessionID, text, session.speaker);
      },
      (text) => this.hint(text),
    );
  }

  /** Put a text behind the results of the step: no hook comes between a failed call and the model. */
  private say(sessionID: string, text: string, { agent, model }: Foreign): void {
    const { providerID, modelID, variant } = model ?? {};
    const speaker = { agent, model: { providerID, modelID }, ...(variant ? { variant } : {}) };
    const body = { noReply: true, ...speaker, parts: [{ type: "text", text, synthetic: true }] };
    Promise.resolve(this.client.session.prompt({ path: { id: sessionID }, body })).catch(() => {});
  }

  private compacted(session: Session, sessionID: string): void {
    const { characters, trigger } = session.summary;
    session.summary = { id: "", characters: 0, trigger: "" };
    const event = { type: "session.compacted", properties: { sessionID } };
    const told = characters > 0 ? { summaryCharacters: characters, trigger } : {};
    void this.sessions.tell(event.type, sessionID, { name: "event", event, ...told });
  }
}

/** The result of a 2.x tool with a text behind it; throws where there is no place for it. */
function withText(result: Foreign, text: string): Foreign {
  const { output, ...copy } = result;
  if (Array.isArray(copy.content)) copy.content = [...copy.content];
  // What has no content is shown to the model as its output.
  else if (copy.content === undefined && typeof output === "string") copy.content = output;
  addTo(copy, text);
  return { ...copy, output };
}

/** How a turn of 2.x ends, in the words of 1.x. */
const ENDS_2: Readonly<Record<string, (data: Foreign) => object>> = {
  "session.execution.succeeded": ({ sessionID }) => ({ type: "session.idle", properties: { sessionID } }),
  "session.execution.failed": ({ sessionID, error }) => ({
    type: "session.error",
    properties: { sessionID, error: { name: String(error?.type ?? error?.name ?? "error") } },
  }),
  "session.execution.interrupted": ({ sessionID }) => ({
    type: "session.error",
    properties: { sessionID, error: { name: "MessageAbortedError" } },
  }),
  "session.deleted": ({ sessionID }) => ({ type: "session.deleted", properties: { sessionID } }),
};

/** Tell the ends of turns until the stream ends. */
async function follow(events: AsyncIterable<Foreign>, sessions: Sessions): Promise<void> {
  for await (const { type, data } of events) {
    const event = ENDS_2[type]?.(data);
    if (event !== undefined && sessions.find(data?.sessionID) !== undefined) {
      void sessions.tell((event as Foreign).type, data.sessionID, { name: "event", event });
    }
  }
}

/** The hooks of 2.x, after its published types; no program of that generation was run. */
async function setup(context: Foreign): Promise<(() => Promise<void>) | undefined> {
  // 1.18.33 calls this beside `server`, with a context that has neither.
  if (typeof context?.session?.hook !== "function" || typeof context?.tool?.hook !== "function") return undefined;
  const folder = String(context.location?.directory ?? process.cwd());
  const bridge = new Bridge(INSTALLED);
  if (!bridge.isOn || !register(folder)) return undefined;
  const sessions = new Sessions(bridge, folder, (sessionID) => context.session.get({ sessionID }));
  const prompt = quietly(({ sessionID, messageID, prompt }: Foreign) =>
    sessions.prompt(sessionID, { id: messageID }, [{ type: "text", text: prompt?.text }]),
  );
  const request = quietly(async ({ sessionID, kind, system }: Foreign) => {
    if (kind === "title") return;
    const { facts } = await sessions.atRequest(sessionID);
    if (facts !== "") system.push({ type: "text", text: facts });
  });
  const after = quietly((event: Foreign) => called2(event, sessions));
  await context.session.hook("prompt", prompt);
  await context.session.hook("context", request);
  await context.tool.hook("execute.after", after);
  const events = context.event?.subscribe?.();
  if (events !== undefined) void follow(events, sessions).catch(() => {});
  return quietly(() => sessions.end());
}

async function called2(event: Foreign, sessions: Sessions): Promise<void> {
  const { tool, sessionID, messageID, id, input, status, error } = event;
  // It has no way to the user's window.
  const hint = (): void => {};
  if (status === "error") {
    const state = { status, input, error: error?.message };
    const say = (text: string): void => {
      error.message += `\n\n${text}`;
    };
    await sessions.failed({ tool, callID: id, sessionID, messageID, state }, say, hint);
    return;
  }
  const result = { output: textOf(event.result), metadata: event.result?.metadata };
  const told = result.output;
  await sessions.returned({ tool, sessionID, callID: id, args: input }, result, hint);
  if (result.output !== told) event.result = withText(event.result, result.output.slice(told.length + 2));
}

export default { id: "tokeneconomizer", server: quietServer, setup: quietSetup };

/** `server`, which opencode passes over in silence when it throws. */
async function quietServer(input: Foreign): Promise<Foreign> {
  return server(input).catch(() => ({}));
}

/** `setup`, of which a throw could cost its user the start. */
async function quietSetup(context: Foreign): Promise<(() => Promise<void>) | undefined> {
  return setup(context).catch(() => undefined);
}
