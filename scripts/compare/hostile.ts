import { request } from 'node:http'
import { type Cell, ofServer } from './cell.ts'
import type { Running } from './side.ts'
import { call, message, post, rpc, version } from './wire.ts'

/** A file of some size within a message. */
export const filesCell: Cell = ofServer(
  {
    name: 'files',
    question: 'A message with a file of 1 MB in it, as configured by default',
    how: 'SendMessage with a `raw` part',
  },
  async ({ url }) => {
    const parts = [{ text: 'hello' }, { raw: 'A'.repeat(1_000_000), mediaType: 'image/png' }]
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts } }
    const { status, text } = await call(url, 'SendMessage', params)
    return text.includes('Echo: hello') ? 'answered' : `refused with HTTP ${status}`
  },
)

/** JSON that nests without end. */
export const depthCell: Cell = ofServer(
  {
    name: 'depth',
    question: 'JSON that is 10,000 levels deep',
    how: 'SendMessage with metadata that deep; then a plain message',
  },
  async (server) => {
    const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
    const body = JSON.stringify(rpc('SendMessage', message('hello'))).replace(
      '"parts"',
      `"metadata":${deep},"parts"`,
    )
    const { status, text } = await post(`${server.url}/`, body, version)
    return `${reading(status, text)}; ${await isAlive(server)}`
  },
)

/** A page of another site, and a name that was made to point here. */
export const browserCell: Cell = ofServer(
  {
    name: 'browser',
    question:
      'A web page of another site calls a server on 127.0.0.1; a foreign host name points there (DNS rebinding)',
    how: 'SendMessage with `Origin: https://evil.example`, then with `Host: evil.example`',
  },
  async ({ url }) => {
    const [origin, host] = [
      await withHeader(url, 'origin', 'https://evil.example'),
      await withHeader(url, 'host', 'evil.example'),
    ]
    return `page: ${said(origin)}; host: ${said(host)}`
  },
)

const said = (status: number): string => (status === 200 ? 'answered' : `refused (${status})`)

function reading(status: number, text: string): string {
  if (status === 0) return 'the connection broke'
  const [, words] = /"message":"([^"]*)"/.exec(text) ?? []
  return text.includes('Echo: hello') ? 'answered' : `refused (${words ?? `HTTP ${status}`})`
}

async function isAlive({ url }: Running): Promise<string> {
  const { text } = await call(url, 'SendMessage', message('hello'))
  return text.includes('Echo: hello') ? 'goes on' : 'answers no more'
}

/** Sends with a header that `fetch` does not let one set. */
function withHeader(url: string, name: string, value: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...version, [name]: value }
    const sent = request(`${url}/`, { method: 'POST', headers }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode ?? 0))
    })
    sent.on('error', reject).end(JSON.stringify(rpc('SendMessage', message('hello'))))
  })
}
