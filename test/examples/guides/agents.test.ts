import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import type { StartedServer } from '../../../src/server/node/run.ts'
import { runTeam } from '../../../src/testing/index.ts'
import { temporary } from '../../cli/corral.ts'
import { freePort } from '../../support/port.ts'
import { guideFile, importProgram, listen } from './guide.ts'

const file = guideFile('agents/corral.toml')

test('six kinds of agents are served, each under its own address', async () => {
  listen()
  const env = { PORT: String(await freePort()) } // the program has to know its own address
  const { running } = await importProgram<{ running: StartedServer }>('agents/six.mjs', env)
  const { url, close } = running
  onTestFinished(close)
  const { agents } = await (await fetch(`${url}/agents`)).json()
  expect(agents).toHaveLength(6)
  const ask = async (id: string, text: string): Promise<string> => {
    const client = new A2AClient(`${url}/agents/${id}`)
    onTestFinished(() => client.close())
    return client.run(text)
  }
  expect(await ask('count', 'to be')).toBe('1 to 2 be ')
  expect(await ask('chorus', 'desserts')).toBe('STRESSED')
})

test('the tailor asks, books once, and gives words, data and a file', async () => {
  const before = process.cwd()
  process.chdir(temporary())
  onTestFinished(() => process.chdir(before))
  const run = await runTeam(file, 'coat', { team: 'tailor', answers: ['red'] })
  expect(run.questions).toEqual(['Which colour?'])
  const parts = run.task.artifacts?.flatMap(({ parts }) => parts)
  expect(parts).toMatchObject([
    { text: 'Order 1 is ready: ' },
    { data: { wish: 'coat', colour: 'red' } },
    { filename: 'receipt.txt', raw: Buffer.from('red coat, paid').toString('base64') },
  ])
  const booked = readFileSync('orders.txt', 'utf8').trim().split('\n')
  expect(booked.map((line) => JSON.parse(line))).toEqual([
    { key: `${run.task.id}/2/book`, wish: 'coat', colour: 'red' },
  ])
})

test('callers hear the words of an A2AError, and of nothing else', async () => {
  const ask = (text: string) => runTeam(file, text, { team: 'kettle', logger: false })
  expect(await ask('3 litres')).toMatchObject({ text: 'It holds two litres' })
  const { state, text } = await ask('much')
  expect([state, text]).toEqual(['TASK_STATE_FAILED', 'The agent failed to process the message'])
})
