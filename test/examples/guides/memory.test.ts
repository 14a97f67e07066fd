import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../cli/corral.ts'
import { runHere, runWithModel } from './guide.ts'

test('a conversation and its values outlive the program', async () => {
  const env = { STORE: join(temporary(), 'inn.db') }
  const visit = (words: string) => runHere('memory/visit.mjs', { env, args: [words] })
  expect(await visit('A room, please')).toEqual(['Welcome!'])
  expect(await visit('I am back')).toEqual(['Visit 2. You began with "A room, please".'])
})

test('a model sees the newest messages and a summary of the others, and the values', async () => {
  const earlier = ['My name is Ada', 'Who am I?', 'A room']
  const [second, fourth] = [
    await runWithModel('memory/corral.toml', 'Who am I?', { earlier: earlier.slice(0, 1) }),
    await runWithModel('memory/corral.toml', 'For two', { earlier }),
  ]
  expect(second.text).toBe('Guest: Ada. Before: 2 messages.')
  expect(fourth.text).toBe('Guest: Ada. Before: 2 messages and a summary.')
})
