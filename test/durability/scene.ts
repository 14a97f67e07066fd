import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Task } from '../../src/protocol/types.ts'
import { type Caller, createCaller, type Question } from './caller.ts'
import { createServerProcess, type ServerProcess, type ServerSetup } from './process.ts'

/** A server process of the running test, on files of its own; both end with the test. */
export interface Scene {
  readonly folder: string
  readonly file: string
  readonly effects: string
  readonly server: ServerProcess
  readonly caller: Caller
  /** Sends text to an agent. */
  send(agent: string, text: string, more?: Partial<Sending>): Promise<Task>
  get(agent: string, id: string): Promise<Task>
  /** Waits until a task has ended or asks. */
  settled(agent: string, id: string): Promise<Task>
  /** Another server on the same files, when the first is gone. */
  restartWith(setup: Partial<ServerSetup>): Promise<void>
}

/** What a send may have beside its text. */
export interface Sending {
  readonly taskId: string
  readonly configuration: object
}

const working = new Set(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'])

/** Starts a server. */
export async function open(setup: Partial<ServerSetup> = {}): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-durability-'))
  const file = setup.file ?? join(folder, 'tasks.db')
  const effects = join(folder, 'effects.log')
  await writeFile(effects, '')
  let server = createServerProcess({ ...setup, file, effects })
  const caller = createCaller(() => server.url())
  onTestFinished(async () => {
    await server.kill()
    await caller.close()
    await rm(folder, { recursive: true, force: true })
  })
  await server.start()

  const get = (agent: string, id: string): Promise<Task> =>
    caller.call({ agent, method: 'GetTask', params: { id } })
  return {
    folder,
    file,
    effects,
    get server() {
      return server
    },
    caller,
    async send(agent, text, { taskId, configuration = {} } = {}) {
      const { task } = await caller.call<{ task: Task }>(
        question(agent, text, { taskId, configuration }),
      )
      return task
    },
    get,
    async settled(agent, id) {
      for (;;) {
        const task = await get(agent, id)
        if (!working.has(task.status.state)) return task
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    async restartWith(changed) {
      server = createServerProcess({ ...setup, ...changed, file, effects })
      await server.start()
    },
  }
}

/** The request that sends text to an agent. */
export function question(
  agent: string,
  text: string,
  { taskId, configuration }: { taskId?: string | undefined; configuration: object },
): Question {
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId && { taskId }),
  }
  return { agent, method: 'SendMessage', params: { message, configuration } }
}

/** What is asked for without waiting for the end. */
export const immediately = { returnImmediately: true }
