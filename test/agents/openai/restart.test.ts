import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { defineTool } from '../../../src/agents/tools.ts'
import { answerParts, isTerminal, textOf, userMessage } from '../../../src/protocol/task.ts'
import { createServer, type Server } from '../../../src/server/index.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import { type ModelAnswer, openModelServer } from '../../../src/testing/index.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe.each(wires)('over the wire of %s', (wire) => {
  test('a server that stops in the middle of an answer gives it whole after the next start', async () => {
    const store = createMemoryStore()
    const calls: string[] = []
    const note = defineTool({
      name: 'note',
      description: 'Takes a note',
      parameters: { type: 'object' },
      execute() {
        calls.push('noted')
        return 'ok'
      },
    })
    const script: ModelAnswer[] = [
      { text: 'Noting. ', tools: [{ name: 'note', arguments: {} }] },
      { hang: ['half ', 'of it'] },
      'Done.',
    ]
    const service = await openModelServer(script, { wire })
    closing.push(service.close)
    const start = async (): Promise<Server> => {
      const agent = new OpenAIAgent({
        id: 'writer',
        name: 'Writer',
        endpoint: service.url,
        apiKey: 'k',
        model: 'm',
        timeoutSeconds: 10,
        maxRetries: 0,
        tools: [note],
      })
      const server = await createServer({ agents: [agent], store, timeouts: { shutdownMs: 0 } })
      closing.push(() => server.close().then(() => agent.close()))
      return server
    }

    const first = await start()
    const stream = await first.dispatch()(
      'SendStreamingMessage',
      { message: userMessage('go') },
      {},
    )
    let id = ''
    let text = ''
    for await (const batch of stream) {
      for (const { event } of batch) {
        if ('task' in event) id = event.task.id
        if ('artifactUpdate' in event) text += textOf(event.artifactUpdate.artifact.parts)
      }
      if (text.includes('half')) break
    }
    await first.close()

    const second = await start()
    expect(await second.recover()).toMatchObject({ resumed: 1 })
    const rest = await second.dispatch()('SubscribeToTask', { id }, {})
    for await (const batch of rest)
      if (
        batch.some(
          ({ event }) => 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state),
        )
      )
        break
    const task = await second.dispatch()('GetTask', { id }, {})
    expect(textOf(answerParts(task))).toBe('Noting. Done.')
    expect(task.artifacts).toHaveLength(1)
    expect(calls).toEqual(['noted'])
  })
})
