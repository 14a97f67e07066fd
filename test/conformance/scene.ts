import { onTestFinished } from 'vitest'
import { createServer, type Server, type ServerOptions } from '../../src/server/index.ts'
import { type Answer, type Talk, type Wild, wiresOf } from '../contracts/binding.ts'
import { createScriptedAgent, type ScriptedAgent } from './agent.ts'

/** A served agent and a wire to it. */
export interface Scene {
  readonly server: Server
  readonly agent: ScriptedAgent
  readonly wire: Talk
  /** All four wires, for what must be the same on each. */
  readonly wires: readonly Talk[]
  /** Sends a text and waits for its answer. */
  send(text: string, more?: Wild, headers?: Record<string, string>): Promise<Answer>
  /** Sends a text without waiting; the task as it came into being. */
  begin(text: string, more?: Wild, headers?: Record<string, string>): Promise<Wild>
  get(id: string, headers?: Record<string, string>): Promise<Wild>
}

/** The four wires, for `describe.each`. */
export const wireNames = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3'] as const
/** The wires of 1.0 alone: what 0.3 does not have. */
export const wireNames10 = ['JSONRPC 1.0', 'HTTP+JSON 1.0'] as const

/** One of the wires. */
export type WireName = (typeof wireNames)[number]

/** Serves the scripted agent for one test, and closes it afterwards. */
export async function open(
  name: WireName,
  options: Partial<ServerOptions> & { readonly agent?: ScriptedAgent } = {},
): Promise<Scene> {
  const { agent = createScriptedAgent(), timeouts, ...rest } = options
  const impatient = { shutdownMs: 0, ...timeouts }
  const server = await createServer({ agents: [agent], timeouts: impatient, ...rest })
  onTestFinished(() => server.close())
  const wires = wiresOf(server.handle)
  const wire = wires.find((one) => one.name === name)
  if (!wire) throw new Error(`There is no wire ${name}`)
  const send: Scene['send'] = (text, more, headers) =>
    wire.ask('SendMessage', request(text, more), headers)
  return {
    server,
    agent,
    wire,
    wires,
    send,
    async begin(text, more = {}, headers = {}) {
      const configuration = { ...more.configuration, returnImmediately: true }
      const { result, body } = await send(text, { ...more, configuration }, headers)
      if (!result?.task) throw new Error(`No task: ${JSON.stringify(body)}`)
      return result.task
    },
    async get(id, headers) {
      return (await wire.ask('GetTask', { id }, headers)).result
    },
  }
}

/** A request to send a text; `message` and `configuration` may say more. */
export function request(text: string, { message, ...more }: Wild = {}): Wild {
  const messageId = crypto.randomUUID()
  return { message: { messageId, role: 'ROLE_USER', parts: [{ text }], ...message }, ...more }
}

/** Everything that a stream gives. */
export async function all(events: AsyncIterable<Wild>): Promise<Wild[]> {
  const list: Wild[] = []
  for await (const event of events) list.push(event)
  return list
}

/** The states that events bring, in order. */
export function statesOf(events: readonly Wild[]): string[] {
  return events.flatMap(
    (event) => event.task?.status.state ?? event.statusUpdate?.status.state ?? [],
  )
}
