/** The hooks of opencode 1.x (measured on 1.18.33), and how its user and its model are spoken to. */

import { quietly } from "./sessions.ts";
import type { Foreign, Session, Sessions } from "./sessions.ts";

/** The words that opencode's request for a title begins with; it has the session's id like any other. */
const TITLE_PROMPT = "You are a title generator";

/** Return what opencode 1.x calls. */
export function hooks1(sessions: Sessions, client: Foreign, folder: string): Foreign {
  const told = new Hooks1(sessions, client, folder);
  return {
    event: quietly(({ event }: Foreign) => told.event(event)),
    "chat.message": quietly(({ sessionID }: Foreign, output: Foreign) =>
      sessions.prompt(sessionID, output.message, output.parts),
    ),
    "experimental.chat.system.transform": quietly(async ({ sessionID, model }: Foreign, { system }: Foreign) => {
      if (typeof sessionID !== "string" || String(system[0]).startsWith(TITLE_PROMPT)) return;
      const session = await sessions.atRequest(sessionID);
      if (session.facts !== "") system.push(session.facts);
      void told.list(session, model).catch(() => {});
    }),
    "tool.execute.after": quietly((call: Foreign, result: Foreign) =>
      sessions.returned(call, result, (text) => told.hint(text)),
    ),
    "tool.definition": quietly(({ toolID }: Foreign) => told.defined(toolID)),
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
