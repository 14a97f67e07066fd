/**
 * Puts one animal beside Corral, in a process of its own: `node --import tsx pen.ts NAME` runs every cell of the animal
 * and writes what came of them to stdout, as JSON in one line.
 */
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { A2AAgent, defineAgent } from '../../src/agents/index.ts'
import { A2AClient, bearer as bearerAuth, signedBy } from '../../src/client/index.ts'
import { type StreamResponse, signCard, type Task, textOf } from '../../src/index.ts'
import { bearer, createServer, listen } from '../../src/server/index.ts'
import { defineTeam } from '../../src/team/index.ts'
import { type CellName, cellNames, type Direction, directions, isAsked } from './matrix.ts'

/** How an agent is served: with a token that it asks for, or a card signed by a key. */
interface Serving {
  readonly token?: string
  readonly key?: { readonly kid: string; readonly private: JWK }
}

/** How a client calls: with a token, or only after one of these keys verified the card. */
interface Calling {
  readonly token?: string
  readonly keys?: readonly JWK[]
}

/** What came of a message, in 0.3's names of states. */
interface Answer {
  readonly state?: string | undefined
  readonly text: string
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  /** How many events a stream had. */
  readonly events?: number
}

/** A client of one agent; a method is missing where a framework's client has nothing of the kind. */
interface Caller {
  send(text: string, ids?: { taskId?: string; contextId?: string }): Promise<Answer>
  stream?(text: string): Promise<Answer>
  /** Answers the question that the agent has just asked, where ids are the client's own affair. */
  reply?(text: string): Promise<Answer>
  /** Begins a task that waits, and gives its id. */
  start?(text: string): Promise<string>
  /** Cancels a task, and gives its state. */
  cancel?(taskId: string): Promise<string | undefined>
}

/** A framework. Its agent echoes in two chunks, asks on "question" and waits on "wait" until it is canceled. */
interface Animal {
  readonly packages: readonly string[]
  serve?(options: Serving): Promise<{ readonly url: string; close(): unknown }>
  connect?(options: Calling & { readonly url: string }): Promise<Caller>
}

type Open = (serving: Serving, calling: Calling) => Promise<Caller>

const limitMs = 20_000
const token = 'a-token-of-the-zoo'
const closing: (() => unknown)[] = []

const agent = defineAgent(
  { name: 'Corral', description: 'Echoes' },
  async function* (message, turn) {
    const text = textOf(message.parts)
    if (text === 'question') return yield turn.ask('Which colour?')
    if (text === 'wait') {
      yield turn.status('TASK_STATE_WORKING')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', reject))
    }
    if (text !== 'chunks') {
      const parts = [{ text: `Echo: ${text}` }]
      return yield turn.artifact({ artifactId: 'response', parts }, { lastChunk: true })
    }
    yield 'Echo: '
    yield text
  },
)

async function serveCorral(
  { token, key }: Serving,
  served: Parameters<typeof createServer>[0]['agents'] = [agent],
): Promise<string> {
  const server = await createServer({
    agents: served,
    timeouts: { shutdownMs: 0 },
    ...(token && { auth: { authenticators: [bearer({ tokens: { [token]: 'visitor' } })] } }),
    ...(key && {
      signCard: async (card) =>
        (await signCard(card, key.private, { alg: 'ES256', kid: key.kid })).signatures ?? [],
    }),
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(() => listening.close())
  return `http://127.0.0.1:${listening.port}`
}

function connectCorral({ url, token, keys }: Calling & { url: string }): Caller {
  const client = new A2AClient({
    serverUrl: url,
    retry: { maxRetries: 0 },
    ...(token && { auth: bearerAuth(token) }),
    ...(keys && { verifyCard: signedBy({ keys: [...keys] }) }),
  })
  closing.push(() => client.close())
  return {
    async send(text, ids) {
      const answer = await client.sendMessage(text, ids)
      return 'task' in answer
        ? toAnswer(answer.task)
        : { text: textOf(answer.message.parts), state: 'message' }
    },
    async stream(text) {
      const events: StreamResponse[] = []
      for await (const event of client.sendMessageStream(text)) events.push(event)
      return readEvents(events)
    },
    async start(text) {
      const answer = await client.sendMessage(text, { configuration: { returnImmediately: true } })
      if ('task' in answer) return answer.task.id
      throw new Error('The answer is a message, not a task')
    },
    cancel: async (id) => toAnswer(await client.cancelTask(id)).state,
  }
}

function toAnswer({ id, contextId, status, artifacts = [] }: Task): Answer {
  const state = stateName(status.state)
  const parts = [...artifacts.flatMap((one) => one.parts), ...(status.message?.parts ?? [])]
  return { taskId: id, contextId, state, text: textOf(parts) }
}

function readEvents(events: readonly StreamResponse[]): Answer {
  let [state, text]: [string | undefined, string] = [undefined, '']
  for (const event of events) {
    if ('artifactUpdate' in event) text += textOf(event.artifactUpdate.artifact.parts)
    if ('message' in event) text += textOf(event.message.parts)
    if ('task' in event) {
      state = stateName(event.task.status.state)
      text = toAnswer(event.task).text // some stream whole tasks
    }
    if ('statusUpdate' in event) {
      state = stateName(event.statusUpdate.status.state)
      text += textOf(event.statusUpdate.status.message?.parts ?? [])
    }
  }
  return { state, text, events: events.length }
}

const stateName = (state: string): string => state.slice(11).toLowerCase().replace('_', '-')

/** The three ways in which an animal and Corral meet. */
function waysOf({ serve, connect }: Animal): Readonly<Record<Direction, Open>> {
  const serveTheirs = async (options: Serving): Promise<string> => {
    if (!serve) throw new Error('It has no server')
    const { url, close } = await serve(options)
    closing.push(close)
    return url
  }
  return {
    async served(serving, calling) {
      if (!connect) throw new Error('It has no client')
      return connect({ ...calling, url: await serveCorral(serving) })
    },
    async called(serving, calling) {
      return connectCorral({ ...calling, url: await serveTheirs(serving) })
    },
    async member(serving, { token }) {
      const member = new A2AAgent({
        id: 'animal',
        endpoint: await serveTheirs(serving),
        maxRetries: 0,
        ...(token && { auth: { type: 'bearer', token } }),
      })
      const scheduler = { type: 'workflow', steps: [{ agentId: 'animal' }] } as const
      const team = defineTeam({ id: 'team', name: 'Team', agents: { animal: member }, scheduler })
      const url = await serveCorral({}, [team])
      return { ...connectCorral({ url }), ...(await connect?.({ url })) }
    },
  }
}

/** What each cell asks of a way; it throws where the answer is not as it must be. */
const cells: Readonly<Record<CellName, (open: Open) => Promise<void>>> = {
  async send(open) {
    check(await (await open({}, {})).send('hello'), 'Echo: hello')
  },
  async stream(open) {
    const caller = await open({}, {})
    const answer = await offered(caller.stream, 'stream')('chunks')
    check(answer, 'Echo: chunks')
    if ((answer.events ?? 0) < 3) throw new Error(`The stream had ${answer.events} events`)
  },
  async question(open) {
    const caller = await open({}, {})
    const { state, taskId, contextId } = await caller.send('question')
    if (state !== 'input-required') throw new Error(`The state is ${state}, not input-required`)
    const ids = { ...(taskId && { taskId }), ...(contextId && { contextId }) }
    const reply = await (caller.reply ? caller.reply('blue') : caller.send('blue', ids))
    check(reply, 'blue')
    if (taskId && reply.taskId && reply.taskId !== taskId)
      throw new Error('The answer began a task of its own')
  },
  async cancel(open) {
    const caller = await open({}, {})
    const id = await offered(caller.start, 'start')('wait')
    const state = await offered(caller.cancel, 'cancel')(id)
    if (state !== 'canceled') throw new Error(`The state is ${state}, not canceled`)
  },
  signed: (open) => checkSignature(open, {}),
  both: (open) => checkSignature(open, { token }),
  async authenticated(open) {
    check(await (await open({ token }, { token })).send('hello'), 'Echo: hello')
    await rejected(open({ token }, {}), 'A caller without a token was served')
  },
}

async function checkSignature(open: Open, more: { readonly token?: string }): Promise<void> {
  const [key, other] = await Promise.all([makeKey(), makeKey()])
  const calling = { keys: [key.public], ...more }
  check(await (await open({ key, ...more }, calling)).send('hello'), 'Echo: hello')
  const opening = open({ key: other, ...more }, calling)
  await rejected(opening, 'A card that another key signed was accepted')
}

function check({ state, text }: Answer, wanted: string): void {
  if (!text.includes(wanted)) throw new Error(`The answer is "${text.slice(0, 200)}" (${state})`)
  if (state !== undefined && !['completed', 'message'].includes(state))
    throw new Error(`The state is ${state}, not completed`)
}

function offered<T>(method: T | undefined, name: string): T {
  if (method === undefined) throw new Error(`Its client has no ${name}`)
  return method
}

async function rejected(opening: Promise<Caller>, fault: string): Promise<void> {
  const answer = await opening.then((caller) => caller.send('hello')).catch(() => undefined)
  if (answer?.text.includes('Echo: hello')) throw new Error(fault)
}

async function makeKey(kid = 'zoo'): Promise<NonNullable<Serving['key']> & { public: JWK }> {
  const pair = await generateKeyPair('ES256', { extractable: true })
  const [own, open] = await Promise.all([exportJWK(pair.privateKey), exportJWK(pair.publicKey)])
  return { kid, private: { ...own, kid, alg: 'ES256' }, public: { ...open, kid, alg: 'ES256' } }
}

/** Why a cell failed; undefined where it passed. */
async function run(work: () => Promise<void>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Nothing came in time')), limitMs)
  })
  try {
    await Promise.race([work(), late])
    return undefined
  } catch (error) {
    return error instanceof Error ? `${error.message} ${error.cause ?? ''}`.trim() : String(error)
  } finally {
    clearTimeout(timer)
    for (const close of closing.splice(0)) await Promise.resolve(close()).catch(() => {})
  }
}

process.on('unhandledRejection', (error) => console.error(error)) // a framework's own; its cell says what came of it
const [, , name = ''] = process.argv
const animal: Animal = await import(`./animals/${name}.mjs`)
const ways = waysOf(animal)
const found: Record<string, string | null> = {}
for (const direction of directions)
  for (const cell of cellNames) {
    if (!isAsked(direction, cell)) continue
    const why = await run(() => cells[cell](ways[direction]))
    found[`${direction} ${cell}`] = why ?? null
    console.error(`${name} ${direction} ${cell}: ${why ?? 'passes'}`)
  }
const result = JSON.stringify({ packages: animal.packages, cells: found })
process.stdout.write(`\n${result}\n`, () => process.exit(0))
