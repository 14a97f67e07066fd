import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runPrograms, servePrograms } from './programs.ts'

const page = readFileSync(new URL('../../../docs/guides/migrate.md', import.meta.url), 'utf8')

/** What the guide shows as the output of a program. */
function shownFor(name: string): string {
  const [, after = ''] = page.split(`node ${name}.mjs\n\`\`\`\n\n\`\`\`text\n`)
  return after.slice(0, after.indexOf('```'))
}

test('the poets of the guide, ours, kept and theirs, answer both clients alike', async () => {
  const poets = ['poet', 'kept', 'sdk-poet'].map((name) => `migrate/${name}.mjs`)
  const urls = await servePrograms(poets)
  const asks = ['migrate/ask.mjs', 'migrate/sdk-ask.mjs']
  const printed = await runPrograms(
    urls.flatMap((AGENT_URL) => asks.map((file) => ({ file, env: { AGENT_URL } }))),
  )
  const lines = printed.map((text) => text.split('\n').map((line) => line.trimEnd()))
  const shown = shownFor('ask').split('\n')
  expect(lines).toEqual(Array.from({ length: 6 }, () => shown))
}, 90_000)

test('the teams of the guide print what it says', async () => {
  const names = ['wrapped', 'press', 'essay', 'report']
  const files = names.map((name) => ({ file: `migrate/${name}.mjs` }))
  const serving = { file: 'migrate/serve.mjs', env: { PORT: '0' } }
  const [printed, handed] = await Promise.all([
    runPrograms([...files, serving]),
    runPrograms([{ file: 'migrate/shop.mjs' }]), // it closes the stand-in that report asks too
  ])
  expect(printed.slice(0, names.length)).toEqual(names.map(shownFor))
  expect(handed).toEqual([shownFor('shop')])
}, 90_000)
