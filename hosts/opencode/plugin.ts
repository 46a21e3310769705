/**
 * What opencode loads: one default export for both of its generations (docs/bridge.md).
 *
 * 1.x calls `server`, 2.x calls `setup`, and 1.18.33 calls both, `setup` with a reduced context. A throw in most hooks
 * costs the user a turn or a tool's output, and no hook has a time limit (1.18.33): each goes through `quietly`.
 */

import { Bridge, stateHome } from "../bridge/bridge.ts";
import type { Installed } from "../bridge/bridge.ts";
import { hooks1 } from "./hooks_1.ts";
import { addTo, quietly, register, Sessions, textOf } from "./sessions.ts";
import type { Foreign } from "./sessions.ts";

declare const INSTALLED: Installed;

/** The sessions of a folder; undefined in a side call of our own, and where the folder is registered for already. */
function sessionsOf(folder: string, lookUp: (sessionID: string) => Promise<Foreign>): Sessions | undefined {
  const bridge = new Bridge(INSTALLED);
  if (!bridge.isOn || !register(folder)) return undefined;
  return new Sessions(bridge, stateHome(INSTALLED), folder, lookUp);
}

/** The entry of 1.x. */
async function server({ client, directory }: Foreign): Promise<Foreign> {
  const folder = String(directory);
  const lookUp = async (id: string): Promise<Foreign> => (await client.session.get({ path: { id } })).data;
  const sessions = sessionsOf(folder, lookUp);
  return sessions === undefined ? {} : hooks1(sessions, client, folder);
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

/** The entry of 2.x, after its published types; no program of that generation was run. */
async function setup(context: Foreign): Promise<(() => Promise<void>) | undefined> {
  // 1.18.33 calls this beside `server`, with a context that has neither.
  if (typeof context?.session?.hook !== "function" || typeof context?.tool?.hook !== "function") return undefined;
  const folder = String(context.location?.directory ?? process.cwd());
  const sessions = sessionsOf(folder, async (sessionID) => context.session.get({ sessionID }));
  if (sessions === undefined) return undefined;
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

export default {
  id: "tokeneconomizer",
  server: (input: Foreign): Promise<Foreign> => server(input).catch(() => ({})),
  setup: (context: Foreign): Promise<(() => Promise<void>) | undefined> => setup(context).catch(() => undefined),
};
