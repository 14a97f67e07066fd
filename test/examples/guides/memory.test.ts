import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listen, openGuide } from './guide.ts'

const guide = openGuide('memory')

test('a conversation and its values outlive the program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'corral-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const lines = listen()
  const [, , before] = process.argv
  onTestFinished(() => void process.argv.splice(2, 1, ...(before === undefined ? [] : [before])))
  for (const [number, words] of ['A room, please', 'I am back'].entries()) {
    process.argv[2] = words
    await guide.load(`visit.mjs?${number}`, { STORE: join(folder, 'inn.db') })
  }
  expect(lines).toEqual(['Welcome!', 'Visit 2. You began with "A room, please".'])
})

test('a model sees the newest messages and a summary of the others, and the values', async () => {
  listen()
  const earlier = ['My name is Ada', 'Who am I?', 'A room']
  const [second, fourth] = [
    await guide.run('corral.toml', 'Who am I?', { earlier: earlier.slice(0, 1) }),
    await guide.run('corral.toml', 'For two', { earlier }),
  ]
  expect(second.text).toBe('Guest: Ada. Before: 2 messages.')
  expect(fourth.text).toBe('Guest: Ada. Before: 2 messages and a summary.')
})
