/**
 * What Pi loads: tells the daemon of a session's steps, and puts what it says into the session.
 *
 * Measured on Pi 1.6.0. Facts are a section of the system prompt, which Pi keeps in its session file and sends
 * only when it is set again at each prompt: the text of a session that goes on is the one in its file, whatever
 * became of the facts. A redirect is one steering message, which follows the results of the step in the very
 * next request. Pi waits for its handlers without any limit, so each waits for the bridge alone.
 */

import { Bridge } from "../bridge/bridge.ts";
import type { Installed, Options, Said } from "../bridge/bridge.ts";

declare const INSTALLED: Installed;

/** Names our section of the system prompt, and our messages. */
const TAG = "tokeneconomizer";

/** Nothing is ever said to these events, so that Pi does not wait for them; it does at its end, for all. */
const UNANSWERED: [undefined, Options] = [undefined, { isWaitedFor: false }];

/** A part of Pi's interface: what is used here. */
interface Pi {
  on(event: string, handler: (event: never, context: Context) => unknown): void;
  sendMessage(
    message: { customType: string; content: string; display: boolean },
    options: { deliverAs: "steer" },
  ): void;
  getActiveTools(): string[];
  getAllTools(): { name: string; description?: unknown; parameters?: unknown }[];
}

interface Context {
  cwd: string;
  hasUI: boolean;
  ui: { notify(text: string, type: "warning"): void };
  model?: { provider?: string; id?: string };
  sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    getEntries(): Entry[];
  };
  getContextUsage(): { tokens: number | null; contextWindow: number } | undefined;
}

interface Entry {
  type: string;
  id: string;
  message?: Message;
}

interface Message {
  role: string;
  content?: unknown;
  sections?: Record<string, string | null>;
  stopReason?: string;
}

interface ToolCallBlock {
  type: string;
  id: string;
  name: string;
  arguments: unknown;
}

interface ToolResult {
  toolCallId: string;
  toolName: string;
  content: { type: string; text?: string }[];
  isError: boolean;
  durationMs?: number;
}

interface TurnEnd {
  message: Message;
  toolResults: ToolResult[];
  outcome?: string;
}

/** The text of our section, as the session's file has it last; empty where it has none. */
function recordedSection(entries: Entry[]): string {
  let section = "";
  for (const { message } of entries) {
    if (message?.role === "system" && message.sections !== undefined && TAG in message.sections) {
      section = message.sections[TAG] ?? "";
    }
  }
  return section.replace(`<${TAG}>\n`, "").replace(`\n</${TAG}>`, "");
}

/** One session in Pi; Pi makes another extension of the same file when it goes to another session. */
class Extension {
  private readonly pi: Pi;
  private readonly bridge: Bridge;
  private section = "";
  private toldTools = "";
  /** What other extensions sent as if the user had: no prompts of a person. */
  private readonly byExtensions = new Set<string>();
  private isPromptUntold = false;
  private outcome = "";
  /** Calls whose tool ran; Pi tells of the others only that they ended. */
  private readonly ran = new Set<string>();

  constructor(pi: Pi, bridge: Bridge) {
    this.pi = pi;
    this.bridge = bridge;
  }

  listen(): void {
    this.on("session_start", (event: { reason: string }, context) => this.start(event, context));
    this.on("before_agent_start", (event: { systemPromptOptions: { sections: Record<string, string> } }) => {
      if (this.section) event.systemPromptOptions.sections[TAG] = this.section;
    });
    this.on("input", (event: { text: string; source: string }) => {
      if (event.source === "extension") this.byExtensions.add(event.text);
    });
    this.on("message_end", (event: { message: Message }) => {
      if (event.message.role === "user") this.isPromptUntold = true;
    });
    // The first event that is waited for and finds the prompt in the session, with its id.
    this.on("context", (_event: object, context) => this.tellPrompt(context));
    this.on("tool_result", (event: { toolCallId: string }) => void this.ran.add(event.toolCallId));
    this.on("turn_end", (event: TurnEnd, context) => this.endStep(event, context));
    this.on("agent_settled", (event: { aborted?: boolean }, context) => this.endTurn(event, context));
    this.on("session_compact", (event: { reason?: string; compactionEntry?: { summary?: string } }, context) => {
      const told = { reason: event.reason, compactionEntry: { summary: event.compactionEntry?.summary } };
      return this.tell("session_compact", context, told, ...UNANSWERED);
    });
    this.on("session_shutdown", (event: { reason: string }, context) =>
      this.tell("session_shutdown", context, { reason: event.reason }),
    );
  }

  /** Hear an event; whatever goes wrong here, Pi hears nothing of it. */
  private on<Event>(name: string, handle: (event: Event, context: Context) => Promise<void> | void): void {
    this.pi.on(name, async (event: Event, context: Context) => {
      try {
        await handle(event, context);
      } catch {
        // The session goes on as if we were not there.
      }
    });
  }

  private tell(
    name: string,
    context: Context,
    event: object,
    take?: (said: Said) => void,
    options?: Options,
  ): Promise<void> {
    const payload = {
      session_id: context.sessionManager.getSessionId(),
      session_file: context.sessionManager.getSessionFile(),
      cwd: context.cwd,
      event: { type: name, ...event },
    };
    return this.bridge.call(name, payload, take, options);
  }

  private async start(event: { reason: string }, context: Context): Promise<void> {
    const entries = context.sessionManager.getEntries();
    // Pi calls a session that goes on `startup`, too.
    const goesOn = entries.some((entry) => entry.type === "message");
    this.section = recordedSection(entries);
    await this.tell(
      "session_start",
      context,
      { reason: event.reason, goesOn, model: context.model?.id },
      (said) => {
        if (!goesOn) this.section = said.context ?? "";
      },
      { isStart: true, factsOf: goesOn ? undefined : context.cwd },
    );
  }

  private async tellPrompt(context: Context): Promise<void> {
    if (!this.isPromptUntold) return;
    this.isPromptUntold = false;
    const entry = context.sessionManager.getEntries().findLast((one) => one.message?.role === "user");
    if (entry?.message === undefined) return;
    const content = contentOf(entry.message);
    const isOfExtension = content.some((block) => this.byExtensions.delete(block.text ?? ""));
    const prompt = {
      message: { role: "user", content },
      entryId: entry.id,
      source: isOfExtension ? "extension" : "interactive",
      tools: this.changedTools(),
    };
    const stepOf = context.sessionManager.getSessionId();
    await this.tell("message_end", context, prompt, undefined, { isWaitedFor: false, stepOf });
  }

  /** The tools that a request holds and how long they are; undefined where that was told already. */
  private changedTools(): { name: string; characters: number }[] | undefined {
    const active = new Set(this.pi.getActiveTools());
    const tools = this.pi
      .getAllTools()
      .filter((tool) => active.has(tool.name))
      .map(({ name, description, parameters }) => {
        return { name, characters: [...JSON.stringify({ name, description, parameters })].length };
      });
    const all = JSON.stringify(tools);
    if (all === this.toldTools) return undefined;
    this.toldTools = all;
    return tools;
  }

  private async endStep(event: TurnEnd, context: Context): Promise<void> {
    this.outcome = event.outcome ?? "";
    if (event.toolResults.length === 0) return;
    const calls = (contentOf(event.message) as ToolCallBlock[]).filter((block) => block.type === "toolCall");
    const ran = event.toolResults.map((result) => result.toolCallId).filter((id) => this.ran.has(id));
    this.ran.clear();
    const step = {
      message: { content: calls.map(({ type, id, name, arguments: given }) => ({ type, id, name, arguments: given })) },
      toolResults: event.toolResults.map(({ toolCallId, toolName, content, isError, durationMs }) => {
        return { toolCallId, toolName, content: content.map(textOf), isError, durationMs };
      }),
      ran,
    };
    const stepOf = context.sessionManager.getSessionId();
    await this.tell("turn_end", context, step, (said) => this.say(said, context, event), { stepOf });
  }

  private say(said: Said, context: Context, event: TurnEnd): void {
    if (said.context) {
      // A turn that is over would be taken up again by it.
      if (event.message.stopReason !== "toolUse") throw new Error("the turn is over");
      this.pi.sendMessage({ customType: TAG, content: said.context, display: false }, { deliverAs: "steer" });
    }
    if (said.hint && context.hasUI) context.ui.notify(said.hint, "warning");
    else if (said.hint) process.stderr.write(`${said.hint}\n`);
  }

  private endTurn(event: { aborted?: boolean }, context: Context): Promise<void> {
    const usage = context.getContextUsage();
    const told = {
      aborted: event.aborted === true,
      outcome: this.outcome,
      provider: context.model?.provider,
      usage: { tokens: usage?.tokens, contextWindow: usage?.contextWindow },
    };
    return this.tell("agent_settled", context, told, ...UNANSWERED);
  }
}

/** A message's blocks; one that is a mere text is a block of it. Pictures are left out. */
function contentOf(message: Message): { type: string; text?: string }[] {
  if (typeof message.content === "string") return [{ type: "text", text: message.content }];
  const blocks = Array.isArray(message.content) ? (message.content as { type: string; text?: string }[]) : [];
  return blocks.filter((block) => block.type === "text" || block.type === "toolCall");
}

function textOf(block: { type: string; text?: string }): { type: string; text?: string } {
  return block.text === undefined ? { type: block.type } : { type: block.type, text: block.text };
}

export default function (pi: Pi): void {
  try {
    const bridge = new Bridge(INSTALLED);
    if (bridge.isOn) new Extension(pi, bridge).listen();
  } catch {
    // Pi would refuse to start.
  }
}
