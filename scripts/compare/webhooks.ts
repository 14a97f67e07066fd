import { createServer, type Server } from 'node:http'
import { askBoth, type Cell } from './cell.ts'
import type { Installed } from './place.ts'
import { type Side, start } from './side.ts'
import { begin, call, message, until } from './wire.ts'

/** A receiver that refuses, some times, to hear that a task is completed. */
interface Receiver {
  readonly url: string
  readonly accepted: string[]
  refusals: number
  close(): void
}

/** A receiver that is away for a moment. */
export const retryCell: Cell = {
  name: 'webhook-retry',
  question:
    'A webhook answers 503, twice, when it is told that the task is completed: does it hear of it?',
  how: 'a receiver on this machine; fifteen seconds',
  run: (place) => askBoth((side) => delivered(place, side)),
}

/** A webhook that points into the network of the server. */
export const guardCell: Cell = {
  name: 'webhook-guard',
  question:
    'A client names http://127.0.0.1 as its webhook: what does the server do, as configured by default?',
  how: 'SendMessage with that webhook, and a receiver that waits for it',
  run: (place) => askBoth((side) => reached(place, side)),
}

async function delivered(place: Installed, side: Side): Promise<string> {
  const receiver = await openReceiver(2)
  const server = await start(place, side, { WEBHOOKS_TO: '127.0.0.1' })
  await begin(server.url, 'hello', { taskPushNotificationConfig: { url: receiver.url } })
  const isThere = async () => receiver.accepted.some(isCompletion)
  const came = await until(isThere, 15)
  await server.kill()
  receiver.close()
  return came ? 'yes: it is told again' : 'no: each event is sent once'
}

async function reached(place: Installed, side: Side): Promise<string> {
  const receiver = await openReceiver(0)
  const server = await start(place, side)
  const refusals: string[] = []
  for (const url of [receiver.url, receiver.url.replace('http:', 'https:')]) {
    const configuration = { taskPushNotificationConfig: { url } }
    const { text } = await call(server.url, 'SendMessage', message('hello', { configuration }))
    const [, words] = /"message":"[\w.]*(?:url)? ?([^"]*)"/.exec(text) ?? []
    refusals.push(words ?? '')
  }
  const came = await until(async () => receiver.accepted.length > 0, 2)
  await server.kill()
  receiver.close()
  return came ? 'calls it' : `refuses: "${refusals.join('"; with https: "')}"`
}

async function openReceiver(refusals: number): Promise<Receiver> {
  const accepted: string[] = []
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const isRefused = isCompletion(body) && receiver.refusals-- > 0
      response.writeHead(isRefused ? 503 : 200).end()
      if (!isRefused) accepted.push(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const url = `http://127.0.0.1:${port}/hook`
  const close = (): void => void server.close().closeAllConnections()
  const receiver: Receiver = { url, accepted, refusals, close }
  return receiver
}

const isCompletion = (body: string): boolean => body.includes('TASK_STATE_COMPLETED')
