import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createEchoAgent } from '../../src/agents/index.ts'
import { createServer, listen } from '../../src/server/index.ts'

/** An agent that a process of its own serves. */
export interface Remote {
  readonly url: string
  stop(): Promise<void>
}

/** Starts a process that serves an echo. */
export async function startRemote(): Promise<Remote> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { execArgv: ['--import', 'tsx'] })
  const [url] = await once(child, 'message')
  return {
    url: String(url),
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

if (process.argv[2] === 'serve') {
  const server = await createServer({ agents: [createEchoAgent()] })
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  process.send?.(`http://127.0.0.1:${port}`)
}
