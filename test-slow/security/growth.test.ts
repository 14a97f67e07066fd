import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const script = fileURLToPath(new URL('../../test/security/growth/measure.ts', import.meta.url))

interface Measured {
  readonly name: string
  readonly character?: string
  readonly growth?: number
}

test('four times a stranger’s text takes no more than eight times the time, wherever it enters', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const measured: Measured[] = []
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) measured.push(JSON.parse(line))
  expect((await ended)[0]).toBe(0)
  const fast = measured.filter(({ growth }) => growth !== undefined)
  expect(fast).toEqual([expect.objectContaining({ name: 'square' })])
  expect(measured.length).toBeGreaterThan(100)
})
