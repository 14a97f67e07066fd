import { onTestFinished } from 'vitest'
import { type ModelAnswer, type ModelServer, openModelServer } from '../../src/testing/index.ts'

/** A scripted model service until the test ends; beyond its answers it refuses, so that none is asked for unseen. */
export async function serveModel(answers: readonly ModelAnswer[]): Promise<ModelServer> {
  const server = await openModelServer((_, count) => answers[count - 1] ?? { status: 429 })
  onTestFinished(() => server.close())
  return server
}
