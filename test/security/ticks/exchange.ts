import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Exchange } from './doors.ts'
import { expand, type Genome } from './genome.ts'

/** What the subject is asked over IPC, and what it answers. */
type Order =
  /** Begins to measure. */
  | { readonly order: 'begin'; readonly profile?: boolean }
  /** Ends it and answers with the longest tick. */
  | { readonly order: 'end' }
  /** Answers with how long JSON.parse and JSON.stringify take for a text. */
  | { readonly order: 'floor'; readonly text: string }

/** The longest tick, in milliseconds; where it was profiled, the functions that took most of the time. */
interface Ticked {
  readonly tickMs: number
  readonly hot?: readonly string[]
}

/** How long the server held its loop for one exchange. */
export interface Measured extends Ticked {
  /** Bytes of the request, of the answer, and of what the hostile service replied. */
  readonly bytes: number
  /** What the tick may take. */
  readonly barMs: number
  /** The first line of the answer. */
  readonly answer: string
  /** Whether it tells of an error of the server itself, which every wire says in the same words. */
  readonly isFault: boolean
}

/** A server under measurement. */
export interface Subject {
  /** Sends an exchange and measures; the first measurement that holds the bar counts, else the best of them. */
  measure(
    exchange: Exchange,
    options?: { readonly tries?: number; readonly profile?: boolean },
  ): Promise<Measured>
  close(): Promise<void>
}

/** What a tick may take beside three times what JSON takes for the same bytes. */
const allowanceMs = 20

/** The most bytes that are sent before the last request of a connection: a mutation may make thousands of a large one. */
const maxPipelined = 64_000_000

/** How long an exchange may take; a stream stays open for ever. */
const patienceMs = 2_000

/** Starts a server in a process of its own, and the hostile service that it calls. */
export async function openSubject(store: 'memory' | 'sqlite' = 'memory'): Promise<Subject> {
  const hostile = await openHostile()
  const folder = await mkdtemp(join(tmpdir(), 'corral-ticks-'))
  const file = store === 'sqlite' ? { file: join(folder, 'tasks.db') } : {}
  const setup = JSON.stringify({ hostile: hostile.url, ...file })
  const script = fileURLToPath(new URL('./subject.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, setup], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const { port } = await ask<{ readonly port: number }>(child)
  const names = await prepare(port)

  async function measureOnce(exchange: Exchange, profile: boolean): Promise<Measured> {
    const text = toRequest(exchange, { ...names, $HOSTILE: hostile.url })
    hostile.reply = { card: exchange.card, reply: exchange.reply, bytes: 0, text: '' }
    await ask(child, { order: 'begin', profile })
    const answer = await talk(port, text)
    const ticked = await ask<Ticked>(child, { order: 'end' })
    const bytes = text.length + answer.length + hostile.reply.bytes
    let barMs = allowanceMs
    if (ticked.tickMs > allowanceMs) {
      const bodies = [bodyOf(text), bodyOf(answer), hostile.reply.text]
      const floors: number[] = []
      for (const body of bodies)
        floors.push(await ask<number>(child, { order: 'floor', text: body }))
      barMs += 3 * Math.max(...floors)
    }
    return {
      ...ticked,
      bytes,
      barMs,
      answer: answer.slice(0, answer.indexOf('\r\n')),
      isFault: answer.includes('Internal error'),
    }
  }

  return {
    async measure(exchange, { tries = 1, profile = false } = {}) {
      let best = await measureOnce(exchange, profile)
      for (let i = 1; i < tries && best.tickMs > best.barMs; i++) {
        const next = await measureOnce(exchange, profile)
        if (next.tickMs / next.barMs < best.tickMs / best.barMs) best = next
      }
      return best
    },
    async close() {
      child.kill('SIGKILL')
      hostile.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Its next words, to an order where there is one. */
async function ask<T>(child: ChildProcess, order?: Order): Promise<T> {
  const gone = new AbortController()
  const exit = (): void => gone.abort(new Error('The server has died'))
  child.once('exit', exit)
  try {
    const answered = once(child, 'message', { signal: gone.signal })
    if (order) child.send(order)
    const [answer] = await answered
    return answer
  } catch (error) {
    throw gone.signal.aborted ? gone.signal.reason : error
  } finally {
    child.off('exit', exit)
  }
}

/** The texts that stand for ids. */
async function prepare(port: number): Promise<Readonly<Record<string, string>>> {
  const post = async (path: string, body: unknown): Promise<string> =>
    talk(
      port,
      toRequest(
        {
          path,
          headers: {
            'content-type': 'application/json',
            'a2a-version': '1.0',
            'x-corral-console': '1',
          },
          body: body as Genome,
        },
        {},
      ),
    )
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const sent = await post('/agents/desk', {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message },
  })
  const receiver = await post('/console/api/receiver', {})
  return {
    $TASK: /"task":\{"id":"([^"]+)"/.exec(sent)?.[1] ?? 'none',
    $RECEIVER: /"id":"([^"]+)"/.exec(receiver)?.[1] ?? 'none',
  }
}

/** The request as the socket takes it, in latin1: bodies are UTF-8 before that. */
export function toRequest(exchange: Exchange, names: Readonly<Record<string, string>>): string {
  const { method = 'POST', path, headers = {}, body, pipelined = 1 } = exchange
  const named = (text: string): string =>
    Object.entries(names).reduce((said, [name, value]) => said.replaceAll(name, value), text)
  const value = body === undefined ? undefined : expand(body)
  const json = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  const bytes = Buffer.from(named(json)).toString('latin1')
  const lines = Object.entries(headers).map(
    ([name, said]) => `${name}: ${inHead(named(asText(expand(said))))}`,
  )
  const head = (last: boolean): string =>
    [
      `${method} ${inTarget(named(asText(expand(path))))} HTTP/1.1`,
      'Host: 127.0.0.1',
      ...lines,
      ...(json === '' ? [] : [`Content-Length: ${bytes.length}`]),
      ...(last ? ['Connection: close'] : []),
    ].join('\r\n')
  const one = `${head(false)}\r\n\r\n${bytes}`
  const most = Math.min(5_000, 1 + Math.floor(maxPipelined / one.length))
  const times = Math.max(1, Math.min(most, Number(expand(pipelined)) || 1))
  return `${one.repeat(times - 1)}${head(true)}\r\n\r\n${bytes}`
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What a head may hold: what ends a line or a target would only make another request of it. */
function inHead(text: string): string {
  return Buffer.from(text.replace(/\p{Cc}/gu, ' ')).toString('latin1')
}

function inTarget(text: string): string {
  return inHead(text).replaceAll(' ', '%20')
}

function bodyOf(text: string): string {
  const body = text.slice(text.lastIndexOf('\r\n\r\n') + 4)
  return Buffer.from(body, 'latin1').toString()
}

/** Sends a text and reads until the connection ends, or patience does. */
function talk(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const pieces: string[] = []
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(text, 'latin1'))
    const late = setTimeout(() => socket.destroy(), patienceMs)
    socket.setEncoding('latin1')
    socket.on('data', (piece) => pieces.push(String(piece)))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(late)
      resolve(pieces.join(''))
    })
  })
}

interface Hostile {
  readonly url: string
  reply: {
    readonly card?: Genome | undefined
    readonly reply?: Genome | undefined
    bytes: number
    text: string
  }
  close(): void
}

/** A service that says what the exchange wants: its card to a GET, a stream where the reply is a list. */
async function openHostile(): Promise<Hostile> {
  const server = createServer(async (request, response) => {
    let asked = ''
    for await (const chunk of request) asked += chunk
    const { reply } = hostile
    const id = /"id":("[^"]*"|\d+)/.exec(asked)?.[1] ?? '1'
    const text = toReply((request.method === 'GET' ? reply.card : reply.reply) ?? {}, {
      '"$ID"': id,
      $HOSTILE: hostile.url,
    })
    reply.bytes += text.length
    if (text.length > reply.text.length) reply.text = text
    const isStream = request.method === 'POST' && /^(data|:|id|event)/.test(text)
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const hostile: Hostile = {
    url: `http://127.0.0.1:${port}`,
    reply: { bytes: 0, text: '' },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return hostile
}

function toReply(genome: Genome, names: Readonly<Record<string, string>>): string {
  const value = expand(genome)
  const events = Array.isArray(value) ? value.flat() : undefined
  const said =
    typeof value === 'string'
      ? value
      : (events?.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') ??
        JSON.stringify(value))
  return Object.entries(names).reduce((text, [name, given]) => text.replaceAll(name, given), said)
}
