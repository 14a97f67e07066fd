import { createServer, type Server } from 'node:http'
import type { Cell } from './cell.ts'
import type { Installed } from './place.ts'
import { type Side, sides, start } from './side.ts'
import { begin, call, message, until } from './wire.ts'

/** A receiver that refuses the first requests. */
interface Receiver {
  readonly url: string
  readonly accepted: string[]
  readonly headers: Set<string>
  refusals: number
  close(): void
}

/** A receiver that is away for a moment. */
export const retryCell: Cell = {
  name: 'webhook-retry',
  question: 'A webhook answers 503 twice: does the completed task reach it?',
  how: 'a receiver on this machine; ten seconds',
  async run(place) {
    const findings = { corral: '', peer: '' }
    for (const side of sides) findings[side] = await delivered(place, side)
    return findings
  },
}

/** A webhook that points into the network of the server. */
export const guardCell: Cell = {
  name: 'webhook-guard',
  question:
    'A client names http://127.0.0.1 as its webhook: what does the server do, as configured by default?',
  how: 'SendMessage with that webhook, and a receiver that waits for it',
  async run(place) {
    const findings = { corral: '', peer: '' }
    for (const side of sides) findings[side] = await reached(place, side)
    return findings
  },
}

async function delivered(place: Installed, side: Side): Promise<string> {
  const receiver = await openReceiver(2)
  const server = await start(place, side, { WEBHOOKS_TO: '127.0.0.1' })
  await begin(server.url, 'hello', { taskPushNotificationConfig: { url: receiver.url } })
  const isThere = async () => receiver.accepted.some((body) => body.includes('COMPLETED'))
  const came = await until(isThere, 10)
  await server.kill()
  receiver.close()
  const signed = [...receiver.headers].filter((name) => /signature/.test(name))
  const events = receiver.accepted.length
  const proof = signed.length > 0 ? `, signed (${signed.join(', ')})` : ', not signed'
  return `${came ? 'yes' : 'no'}; ${events} events accepted, 2 refused${proof}`
}

async function reached(place: Installed, side: Side): Promise<string> {
  const receiver = await openReceiver(0)
  const server = await start(place, side)
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  const { text } = await call(server.url, 'SendMessage', message('hello', { configuration }))
  const came = await until(async () => receiver.accepted.length > 0, 2)
  await server.kill()
  receiver.close()
  const [, words] = /"message":"([^"]*)"/.exec(text) ?? []
  return came ? 'calls it' : `refuses: ${words?.replace(/:\d+/, '') ?? 'nothing came'}`
}

async function openReceiver(refusals: number): Promise<Receiver> {
  const accepted: string[] = []
  const headers = new Set<string>()
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const isRefused = receiver.refusals-- > 0
      response.writeHead(isRefused ? 503 : 200).end()
      if (isRefused) return
      accepted.push(body)
      for (const name of Object.keys(request.headers)) headers.add(name)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const url = `http://127.0.0.1:${port}/hook`
  const close = (): void => void server.close().closeAllConnections()
  const receiver: Receiver = { url, accepted, headers, refusals, close }
  return receiver
}
