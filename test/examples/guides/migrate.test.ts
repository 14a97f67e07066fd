import { expect, test } from 'vitest'
import { runPrograms, servePrograms, shownOutput } from './guide.ts'

const shownFor = (name: string): string => shownOutput('migrate', `node ${name}.mjs`)

test('the poets of the guide, ours, kept and theirs, answer both clients alike', async () => {
  const poets = ['poet', 'kept', 'sdk-poet'].map((name) => `migrate/${name}.mjs`)
  const urls = await servePrograms(poets)
  const asks = ['migrate/ask.mjs', 'migrate/sdk-ask.mjs']
  const printed = await runPrograms(
    urls.flatMap((AGENT_URL) => asks.map((name) => ({ name, env: { AGENT_URL } }))),
  )
  const lines = printed.map((text) => text.split('\n').map((line) => line.trimEnd()))
  const shown = shownFor('ask').split('\n')
  expect(lines).toEqual(Array.from({ length: 6 }, () => shown))
})

test('the teams of the guide print what it says', async () => {
  const names = ['wrapped', 'press', 'essay', 'report']
  const files = names.map((name) => ({ name: `migrate/${name}.mjs` }))
  const serving = { name: 'migrate/serve.mjs', env: { PORT: '0' } }
  const [printed, handed] = await Promise.all([
    runPrograms([...files, serving]),
    runPrograms([{ name: 'migrate/shop.mjs' }]), // it closes the stand-in that report asks too
  ])
  expect(printed.slice(0, names.length)).toEqual(names.map(shownFor))
  expect(handed).toEqual([shownFor('shop')])
})
