/**
 * The agent that the official conformance kit (A2A TCK) talks to. The kit says by the prefix of `messageId` what the
 * agent is to do; a message id may come again with other text, so nothing is remembered by it.
 *
 *   npm run tck-agent -- --port 9999 --profile base|push|nostream|ext [--card strict|superset] [--error-table 1.0.0|1.0.1]
 */
import { parseArgs } from 'node:util'
import type { AgentEvent, Turn } from '../src/agents/agent.ts'
import { defineAgent } from '../src/agents/function.ts'
import type { Message, Part } from '../src/protocol/types.ts'
import { createServer, listen, type ServerOptions } from '../src/server/index.ts'
import { wait } from '../src/shared/async.ts'
import { systemClock } from '../src/shared/clock.ts'

type Script = (turn: Turn) => AsyncIterable<AgentEvent>

const text: Part = { text: 'Generated text content' }
const file: Part = { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }
const link: Part = {
  url: 'https://example.com/output.txt',
  filename: 'output.txt',
  mediaType: 'text/plain',
}
const data: Part = { data: { key: 'value', count: 42 }, mediaType: 'application/json' }

/** What each prefix asks for. The first that fits is taken, so the longer of two stands before the shorter. */
const scripts: readonly (readonly [prefix: string, script: Script])[] = [
  ['tck-complete-task', (turn) => end(turn, 'TASK_STATE_COMPLETED', 'Hello from TCK')],
  ['tck-input-required', (turn) => end(turn, 'TASK_STATE_INPUT_REQUIRED', 'What else?')],
  ['tck-reject-task', (turn) => end(turn, 'TASK_STATE_REJECTED', 'I do not take this')],
  ['tck-artifact-text', (turn) => produce(turn, text)],
  ['tck-artifact-file-url', (turn) => produce(turn, link)],
  ['tck-artifact-file', (turn) => produce(turn, file)],
  ['tck-artifact-data', (turn) => produce(turn, data)],
  ['tck-message-response', say],
  ['tck-stream-artifact-chunked', chunks],
  ['tck-stream-artifact-file', (turn) => produce(turn, file)],
  ['tck-stream-artifact-text', (turn) => produce(turn, text)],
  ['tck-stream-002', (turn) => end(turn, 'TASK_STATE_COMPLETED')],
  ['tck-stream-', (turn) => produce(turn, text)],
  ['test-resubscribe-message-id', linger],
]

async function* end(
  turn: Turn,
  state: 'TASK_STATE_COMPLETED' | 'TASK_STATE_INPUT_REQUIRED' | 'TASK_STATE_REJECTED',
  words?: string,
): AsyncGenerator<AgentEvent> {
  yield turn.status(state, words)
}

async function* produce(turn: Turn, part: Part): AsyncGenerator<AgentEvent> {
  yield turn.status('TASK_STATE_WORKING')
  yield turn.artifact({ artifactId: 'output', name: 'output', parts: [part] }, { lastChunk: true })
  yield turn.status('TASK_STATE_COMPLETED')
}

async function* chunks(turn: Turn): AsyncGenerator<AgentEvent> {
  yield turn.status('TASK_STATE_WORKING')
  yield turn.artifact({ artifactId: 'output', name: 'output', parts: [{ text: 'chunk-1 ' }] })
  yield turn.artifact(
    { artifactId: 'output', parts: [{ text: 'chunk-2' }] },
    { append: true, lastChunk: true },
  )
  yield turn.status('TASK_STATE_COMPLETED')
}

async function* say(turn: Turn): AsyncGenerator<AgentEvent> {
  yield turn.reply('Direct message response')
}

/** Runs for four seconds with a sign of life in each, unless it is cancelled. */
async function* linger(turn: Turn): AsyncGenerator<AgentEvent> {
  for (let second = 1; second <= 4; second++) {
    yield turn.status('TASK_STATE_WORKING', `Still working (${second})`)
    await wait(systemClock, 1000, turn.signal)
  }
  yield turn.status('TASK_STATE_COMPLETED')
}

async function* answer(turn: Turn): AsyncGenerator<AgentEvent> {
  yield 'Hello from the conformance agent'
  yield turn.status('TASK_STATE_COMPLETED')
}

/** The 0.3 kit goes on with, and cancels, tasks that messages of any id have made; 1.0's has its own for that. */
async function* converse(turn: Turn): AsyncGenerator<AgentEvent> {
  yield 'Hello from the conformance agent'
  yield turn.ask('Anything else?')
}

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9999' },
    profile: { type: 'string', default: 'base' },
    card: { type: 'string', default: 'strict' },
    'error-table': { type: 'string', default: '1.0.1' },
  },
})
const otherwise = values.card === 'superset' ? converse : answer

const agent = defineAgent(
  {
    id: 'tck',
    name: 'TCK agent',
    description: 'Does what the A2A conformance kit asks for',
    version: '1.0.0',
  },
  (message: Message, turn: Turn) => {
    const script = scripts.find(([prefix]) => message.messageId.startsWith(prefix))?.[1]
    return (script ?? otherwise)(turn)
  },
)

/** The four profiles; each is one process. */
const profiles: Readonly<Record<string, Partial<ServerOptions>>> = {
  base: {},
  push: {
    // The kit's receiver is plain HTTP on this machine, which nobody else may be told to call.
    pushNotifications: { guard: { allow: ['localhost', '127.0.0.0/8', '[::1]'], allowHttp: true } },
    extendedCard: (card) => ({ ...card, description: `${card.description}, in detail` }),
    openExtendedCard: true,
  },
  nostream: { streaming: false },
  ext: { extensions: [{ uri: 'urn:a2a:tck:required-extension', required: true }] },
}

const profile = profiles[values.profile]
if (!profile) throw new Error(`--profile must be one of ${Object.keys(profiles).join(', ')}`)

const server = await createServer({
  agents: [agent],
  card: values.card === 'superset' ? 'superset' : 'strict',
  errorTable: values['error-table'] === '1.0.0' ? '1.0.0' : '1.0.1',
  enforceInputModes: false,
  // The kit knows the specification's bindings and no others.
  interfaces: (all) => all.filter(({ protocolBinding }) => !protocolBinding.startsWith('urn:')),
  ...profile,
})
const listening = await listen(server, { port: Number(values.port), host: '127.0.0.1' })
console.log(`${values.profile} at ${listening.url}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void listening.close())
