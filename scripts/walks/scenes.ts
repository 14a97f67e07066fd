/**
 * The walks, each measured in a process of its own over the instrumented package. A scene gets ready, loads what its walk
 * uses, and gives what is measured. The processes beside it, such as the agent that an evaluation asks, are helpers.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { record } from './instrument.ts'

/** What a scene has to work with. */
export interface Place {
  /** The folder that holds the instrumented `dist`. */
  readonly copy: string
  /** The folder of the project. */
  readonly root: string
  /** Where PostgreSQL listens, if it could be started. */
  readonly postgres: string | undefined
  /** Starts a helper in this process's folder; it ends with this process. */
  help(name: string): ChildProcess
}

/** Gets ready, and gives what is measured; that may give what another process entered, which is counted after its own. */
type Scene = (place: Place) => Promise<() => Promise<unknown>>

type Agents = typeof import('../../src/agents/index.ts')
type Evaluations = typeof import('../../src/eval/index.ts')
type Servers = typeof import('../../src/server/index.ts')
type Stores = typeof import('../../src/store/index.ts')
type Teams = typeof import('../../src/team/index.ts')
type Agent = import('../../src/agents/index.ts').Agent
type ServerOptions = import('../../src/server/index.ts').ServerOptions

/** The walks by name. */
export const scenes: Readonly<Record<string, Scene>> = {
  message: async (place) => {
    const url = await serve(place, { agents: [await createAgent(place, 'Echo')] })
    return async () => expectState(await send(url), 'TASK_STATE_COMPLETED')
  },

  stream: async (place) => {
    const url = await serve(place, { agents: [await createAgent(place, 'Echo')] })
    return async () =>
      expectState(await send(url, { method: 'SendStreamingMessage' }), 'TASK_STATE_COMPLETED')
  },

  team: async (place) => {
    const { defineTeam } = await load<Teams>(place, 'team')
    const agents = {
      writer: await createAgent(place, 'Writer'),
      editor: await createAgent(place, 'Editor'),
    }
    const steps = [
      { agentId: 'writer' },
      { approval: { question: 'Shall the editor read it?' } },
      { agentId: 'editor' },
    ] as const
    const scheduler = { type: 'workflow', steps } as const
    const team = defineTeam({ id: 'team', name: 'Team', agents, scheduler })
    const url = await serve(place, { agents: [team] })
    return async () => {
      const question = await send(url)
      expectState(question, 'TASK_STATE_INPUT_REQUIRED')
      const answer = await send(url, { text: 'yes', taskId: taskIdOf(question) })
      expectState(answer, 'TASK_STATE_COMPLETED')
    }
  },

  recovery: async (place) => {
    const interrupted = place.help('interrupted')
    await firstMessage(interrupted)
    interrupted.kill('SIGKILL')
    await once(interrupted, 'exit')
    const { createServer } = await load<Servers>(place, 'server')
    const { openSqliteStore } = await load<Stores>(place, 'store')
    const agent = await createAgent(place, 'Echo')
    return async () => {
      const store = await openSqliteStore(tasksFile)
      const server = await createServer({ agents: [agent], store, clock })
      await server.recover()
      await untilCompleted()
    }
  },

  forwarded: async (place) => {
    const owner = place.help('owner')
    const taskId = String(await firstMessage(owner))
    const agents = [await createAgent(place, 'Echo')]
    const url = await serve(place, { agents, store: await openDatabase(place) })
    return async () => {
      expectState(await send(url, { text: 'more', taskId }), 'TASK_STATE_COMPLETED')
      owner.send('over')
      return firstMessage(owner)
    }
  },

  evaluation: async (place) => {
    const { kestrel, runEvaluation } = await load<Evaluations>(place, 'eval')
    const endpoint = String(await firstMessage(place.help('golden')))
    return () => runEvaluation({ agent: { endpoint }, domain: kestrel, numTasks: 1 })
  },

  serve: async (place) => {
    const folders = ['agents', 'client', 'server', 'store', 'team', 'eval']
    await Promise.all(folders.map((folder) => load(place, folder)))
    await importFrom(place, 'cli/program.js')
    const team = join(place.root, 'examples/fantasy/corral.toml')
    process.argv = [process.execPath, 'corral', 'serve', team, '--port', '0']
    const listening = untilWritten('http://')
    return () => {
      void importFrom(place, 'cli/main.js')
      return listening
    }
  },
}

/** What runs beside a scene; each tells the scene when it is ready. */
export const helpers: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  /** The agent that an evaluation asks; gives its URL. */
  golden: async (place) => {
    const { kestrel, createGoldenAgent } = await load<Evaluations>(place, 'eval')
    return serve(place, { agents: [createGoldenAgent(kestrel)] })
  },

  /** A server that is killed in the middle of a turn; ready when the turn runs. */
  interrupted: async (place) => {
    const { openSqliteStore } = await load<Stores>(place, 'store')
    const { agent, begun } = await createWaitingAgent(place, new Promise(() => {}))
    const store = await openSqliteStore(tasksFile)
    const url = await serve(place, { agents: [agent], store })
    await send(url, { configuration: { returnImmediately: true } })
    await begun
  },

  /**
   * The replica that runs a task; gives the task's id. Its turn ends when the next message is there. Once the scene is over
   * it sends what it entered.
   */
  owner: async (place) => {
    const arrival = createSignal()
    const { agent, begun } = await createWaitingAgent(place, arrival.given)
    const url = await serve(place, { agents: [agent], store: await openDatabase(place) })
    const id = taskIdOf(await send(url, { configuration: { returnImmediately: true } }))
    await begun
    // What the beginning of the turn stores is not part of the walk.
    await sleep(200)
    void record(async () => {
      void untilVersion(place, id).then(arrival.give)
      await once(process, 'message')
    }).then((entered) => process.send?.(entered))
    return id
  },
}

/** Where the interrupted server and the one after it have their tasks, in the folder of the walk. */
const tasksFile = 'tasks.db'

/** Times do not differ from run to run, so that neither do the calls; timers are real. */
const clock = {
  now: () => 1_700_000_000_000,
  elapsed: () => 0,
  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** Imports a public entrance of the instrumented package. */
function load<T>(place: Place, name: string): Promise<T> {
  return importFrom(place, `${name}/index.js`)
}

function importFrom<T>({ copy }: Place, path: string): Promise<T> {
  return import(pathToFileURL(join(copy, 'dist', path)).href)
}

async function createAgent(place: Place, name: string): Promise<Agent> {
  const { defineAgent } = await load<Agents>(place, 'agents')
  return defineAgent({ name, resumable: true }, () => `${name} is done`)
}

/** An agent that asks for more once the wait is over, and answers what it gets then. */
async function createWaitingAgent(
  place: Place,
  wait: Promise<unknown>,
): Promise<{ readonly agent: Agent; readonly begun: Promise<void> }> {
  const { defineAgent } = await load<Agents>(place, 'agents')
  const begin = createSignal()
  let turns = 0
  const agent = defineAgent({ name: 'Echo', resumable: true }, async function* (_message, turn) {
    begin.give()
    if (turns++ === 0) {
      await wait
      yield turn.status('TASK_STATE_INPUT_REQUIRED', 'And then?')
    } else yield 'Echo is done'
  })
  return { agent, begun: begin.given }
}

interface Signal {
  readonly given: Promise<void>
  give(): void
}

function createSignal(): Signal {
  let give = (): void => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

/** Serves agents on a free port, with the store in memory if none is given; gives the URL. */
async function serve(place: Place, options: ServerOptions): Promise<string> {
  const { createServer, listen } = await load<Servers>(place, 'server')
  const server = await createServer({ clock, ...options })
  const { url } = await listen(server, { port: 0, host: '127.0.0.1', clock })
  return url
}

/** Where the replicas of one run have their tables. */
const schema = `walk_${process.env.CORRAL_WALK ?? ''}`

/** The database of the replicas. Nothing is done by time: what a replica misses fails the walk. */
async function openDatabase({
  postgres,
  ...place
}: Place): Promise<ServerOptions['store'] & object> {
  if (postgres === undefined) throw new Error('There is no PostgreSQL')
  const { openPostgresStore } = await load<Stores>({ postgres, ...place }, 'store')
  const never = 600_000
  return openPostgresStore({
    url: postgres,
    schema,
    leaseMs: 3 * never,
    beatMs: never,
    lookMs: never,
    logger: false,
  })
}

interface Sent {
  readonly text?: string
  readonly method?: string
  readonly taskId?: string
  readonly configuration?: object
}

/** Sends one message; gives the body of the response. */
function send(url: string, { method = 'SendMessage', ...sent }: Sent = {}): Promise<string> {
  const { text = 'hello', taskId, configuration } = sent
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], taskId }
  return call(url, method, { message, configuration })
}

/** Calls a server as any JSON-RPC client does; gives the body of the response. */
async function call(url: string, method: string, params: object): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return response.text()
}

function expectState(body: string, state: string): void {
  if (!body.includes(state)) throw new Error(`Not ${state}: ${body}`)
}

function taskIdOf(body: string): string {
  const { result } = JSON.parse(body)
  return String(result?.task?.id)
}

/** The first message of a process. */
async function firstMessage(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('A helper ended early')
  })
  const [message] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => {})
  return message
}

/** Reads the file with a connection of its own until its task is completed, so that nothing of the package runs for it. */
async function untilCompleted(): Promise<void> {
  const { default: Database } = await import('libsql')
  const db = new Database(tasksFile, { readonly: true })
  while (!db.prepare("SELECT 1 FROM task WHERE state = 'TASK_STATE_COMPLETED'").get())
    await sleep(5)
  db.close()
  // What follows the last commit is part of the walk, always.
  await sleep(200)
}

/** Reads the database with a connection of its own until something is added to the task. */
async function untilVersion({ postgres }: Place, id: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: postgres })
  await client.connect()
  const read = async (): Promise<number> => {
    const { rows } = await client.query(`SELECT version FROM ${schema}.task WHERE id = $1`, [id])
    return Number(rows[0]?.version)
  }
  const before = await read()
  while ((await read()) === before) await sleep(10)
  await client.end()
}

/** Resolves when the process has written these words. */
function untilWritten(words: string): Promise<void> {
  return new Promise((resolve) => {
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = (chunk: string | Uint8Array) => {
      if (String(chunk).includes(words)) resolve()
      return write(chunk)
    }
  })
}
