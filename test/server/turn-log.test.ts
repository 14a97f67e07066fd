import { afterEach, describe, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/index.ts'
import { A2AClient } from '../../src/client/index.ts'
import { type Task, usageExtension } from '../../src/index.ts'
import { runServer } from '../../src/server/node/run.ts'
import { createServer } from '../../src/server/server.ts'
import { type Logger, silent } from '../../src/shared/log.ts'
import { defineTeam } from '../../src/team/index.ts'

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Line extends Record<string, unknown> {
  readonly message: string
}

/** A logger that keeps its info lines, as one of pino's does at this level. */
function keeping(level: 'info' | 'warn' | undefined): Logger & { readonly lines: Line[] } {
  const lines: Line[] = []
  return {
    ...silent,
    info: (fields, message) => void lines.push({ message, ...fields }),
    ...(level && { isLevelEnabled: (asked: string) => asked === level }),
    lines,
  }
}

const usage = { [usageExtension]: { inputTokens: 7, outputTokens: 3 } }

const counting = defineAgent({ name: 'Counting' }, async function* (_message, turn) {
  const artifact = { artifactId: 'response', parts: [{ text: 'two' }], metadata: usage }
  yield turn.artifact(artifact, { lastChunk: true })
})

async function talk(agent: Agent, logger: Logger): Promise<A2AClient> {
  const server = await createServer({ agents: [agent], logger })
  const { url, close } = await runServer(server, { port: 0, host: '127.0.0.1', logger: false })
  const client = new A2AClient(url)
  closing.push(async () => {
    await client.close()
    await close()
  })
  return client
}

describe('a logger that keeps info', () => {
  test('gets a line for each request and turn: who, how it ended, how long, how many tokens', async () => {
    const logger = keeping('info')
    const client = await talk(counting, logger)
    await client.sendMessage('one')
    expect(logger.lines).toEqual([
      {
        message: 'Turn ended',
        agent: 'counting',
        caller: 'anonymous',
        taskId: expect.any(String),
        state: 'completed',
        ms: expect.any(Number),
        inputTokens: 7,
        outputTokens: 3,
      },
      {
        message: 'SendMessage',
        agent: 'counting',
        caller: 'anonymous',
        outcome: 'ok',
        ms: expect.any(Number),
      },
    ])
    await client.getTask('nope').catch(() => undefined)
    expect(logger.lines.at(-1)).toMatchObject({ message: 'GetTask', outcome: 'taskNotFound' })
  })

  test('gets a line for each delegation of a team', async () => {
    const logger = keeping('info')
    const client = await talk(
      defineTeam({
        id: 'desk',
        name: 'Desk',
        agents: { counting },
        scheduler: { type: 'router', defaultAgentId: 'counting' },
      }),
      logger,
    )
    await client.sendMessage('one')
    const [delegation, turn] = logger.lines
    expect(delegation).toEqual({
      message: 'Delegation ended',
      team: 'desk',
      member: 'counting',
      step: expect.any(String),
      taskId: expect.any(String),
      state: 'completed',
      ms: expect.any(Number),
      inputTokens: 7,
      outputTokens: 3,
    })
    expect(turn).toMatchObject({ message: 'Turn ended', agent: 'desk', inputTokens: 7 })
  })

  test.each<[string, () => ReturnType<Agent['process']>, string]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
      'failed',
    ],
    ['rejects', () => Promise.reject(new Error('no')), 'failed'],
    ['answers at once', () => 'two', 'completed'],
    ['answers later', () => Promise.resolve('two'), 'completed'],
  ])('hears of an agent that %s', async (_name, answer, state) => {
    const logger = keeping('info')
    const client = await talk(defineAgent({ name: 'A' }, answer), logger)
    await client.sendMessage('one')
    expect(logger.lines.filter(({ message }) => message === 'Turn ended')).toMatchObject([
      { state },
    ])
  })
})

/** Works until it is told to stop, and then says so. */
const patient = defineAgent({ name: 'Patient', resumable: true }, async (_message, turn) => {
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }))
  turn.signal.throwIfAborted()
  return 'never'
})

describe('a turn that is ended from outside', () => {
  test('is told as canceled', async () => {
    const logger = keeping('info')
    const client = await talk(patient, logger)
    const { id } = await begun(client)
    await client.cancelTask({ id })
    expect(logger.lines).toContainEqual(expect.objectContaining({ taskId: id, state: 'canceled' }))
  })

  test('is told as interrupted where the server stops', async () => {
    const logger = keeping('info')
    const server = await createServer({ agents: [patient], logger, timeouts: { shutdownMs: 0 } })
    const { url, close } = await runServer(server, { port: 0, host: '127.0.0.1', logger: false })
    const client = new A2AClient(url)
    const { id } = await begun(client)
    await client.close()
    await close()
    const line = { taskId: id, state: 'interrupted' }
    expect(logger.lines).toContainEqual(expect.objectContaining(line))
  })
})

async function begun(client: A2AClient): Promise<Task> {
  const sent = await client.sendMessage('one', { configuration: { returnImmediately: true } })
  if (!('task' in sent)) throw new Error('No task has begun')
  return sent.task
}

describe('a logger that does not keep info, or cannot say so', () => {
  test.each(['warn', undefined] as const)('gets no such line (%s)', async (level) => {
    const logger = keeping(level)
    const client = await talk(counting, logger)
    await client.sendMessage('one')
    expect(logger.lines).toEqual([])
  })
})
