import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Hosts that behave badly towards whoever calls them. */
export interface BadHosts {
  /** Takes connections at every address of this machine and never answers. */
  readonly tarpit: number
  /** An A2A agent whose stream has no end. */
  readonly endless: string
  close(): void
}

/** Opens them on free ports. */
export async function openHosts(): Promise<BadHosts> {
  const tarpit = createServer(() => {})
  const endless = createServer((request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(cardAt(portOf(endless))))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const task = { id: 'endless', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
    response.write(frame({ task }))
    const pump = (): void => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', pump)
    pump()
  })
  await Promise.all([listen(tarpit, '0.0.0.0'), listen(endless, '127.0.0.1')])
  return {
    tarpit: portOf(tarpit),
    endless: `http://127.0.0.1:${portOf(endless)}`,
    close() {
      for (const host of [tarpit, endless]) {
        host.closeAllConnections()
        host.close()
      }
    },
  }
}

const artifact = { artifactId: 'a', parts: [{ text: 'x'.repeat(8_192) }] }
const chunk = frame({
  artifactUpdate: { taskId: 'endless', contextId: 'c', artifact, append: true },
})

function frame(result: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`
}

function cardAt(port: number): object {
  const url = `http://127.0.0.1:${port}/`
  return {
    name: 'Endless',
    description: 'Never stops',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}

function listen(server: Server, host: string): Promise<void> {
  return new Promise((resolve) => server.listen(0, host, resolve))
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port // it listens on TCP
}
