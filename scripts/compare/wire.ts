/** Bare requests, so that neither side's client takes part. */

/** What came back. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** A value of which nothing is known. */
type Loose = Readonly<Record<string, unknown>>

const longestMs = 20_000

/** Sends JSON; a server that breaks the connection off, or says nothing, has status 0. */
export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(longestMs),
    })
    return { status: reply.status, text: await reply.text() }
  } catch {
    return { status: 0, text: '' }
  }
}

/** Calls a method of A2A 1.0 over JSON-RPC. */
export function call(url: string, method: string, params: unknown): Promise<Answer> {
  return post(`${url}/`, rpc(method, params), version)
}

/** The header that says 1.0. */
export const version = { 'a2a-version': '1.0' } as const

/** A JSON-RPC request. */
export function rpc(method: string, params: unknown): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** The params that send words, in 1.0. */
export function message(text: string, more: object = {}): object {
  return {
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    ...more,
  }
}

/** Starts a task and gives its id, without waiting for its end. */
export async function begin(
  url: string,
  text: string,
  configuration: object = {},
): Promise<string> {
  const given = { configuration: { returnImmediately: true, ...configuration } }
  const { text: body } = await call(url, 'SendMessage', message(text, given))
  const id = at(JSON.parse(body), 'result', 'task', 'id')
  if (typeof id !== 'string') throw new Error(`No task began: ${body.slice(0, 300)}`)
  return id
}

/** The task as JSON, or the error. */
export async function getTask(url: string, id: string): Promise<Loose> {
  const { text } = await call(url, 'GetTask', { id })
  return JSON.parse(text)
}

/** The value at a path, where there is one. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined,
    value,
  )
}

/** An event of a stream. */
export interface StreamEvent {
  readonly id: string | undefined
  readonly data: unknown
}

/** Opens a stream and gives its events; leaving the loop breaks the connection. */
export async function* stream(
  url: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<StreamEvent> {
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(longestMs)])
  const reply = await fetch(`${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...version, ...headers },
    body: JSON.stringify(rpc(method, params)),
    signal,
  })
  try {
    let rest = ''
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const frames = `${rest}${chunk}`.replaceAll('\r\n', '\n').split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const data = /^data: ?(.*)$/m.exec(frame)?.[1]
        if (data !== undefined)
          yield { id: /^id: ?(.*)$/m.exec(frame)?.[1], data: JSON.parse(data) }
      }
    }
  } finally {
    controller.abort()
  }
}

/** Waits until something is so, for some seconds at most; whether it is. */
export async function until(isSo: () => Promise<boolean>, seconds: number): Promise<boolean> {
  for (let left = seconds * 20; left > 0; left--) {
    if (await isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}
