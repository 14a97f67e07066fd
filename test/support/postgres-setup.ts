import { createServer, type Server } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The port that answers with the URL of the tests' PostgreSQL, which is started when somebody first asks. */
    readonly postgresPort: number
  }
}

let started: Promise<PostgresServer> | undefined
let door: Server | undefined

/** One PostgreSQL for the test files of all projects, started when the first of them asks for it. */
export async function setup(project: TestProject): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    started ??= startPostgres()
    started.then(
      ({ url }) => socket.end(url),
      (error: unknown) => socket.end(`! ${String(error)}`),
    )
  })
  door = server
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  project.provide('postgresPort', typeof address === 'object' && address ? address.port : 0)
}

/** Ends it. */
export async function teardown(): Promise<void> {
  door?.close()
  await started?.then((server) => server.stop()).catch(() => {})
}
