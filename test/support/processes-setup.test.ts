import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processesWith } from './processes-setup.ts'

const mark = `corral-mark-${process.pid}`

describe.skipIf(process.platform !== 'linux')('a process of a run is found', () => {
  test.each<[string, () => SpawnOptions]>([
    ['by its environment', () => ({ env: { CORRAL_TEST_RUN: mark } })],
    ['by the directory it works in', () => ({ env: {}, cwd: folder() })],
    ['by its arguments', () => ({ env: {}, argv0: mark })],
  ])('%s, until it has ended', async (_way, options) => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], options())
    await once(child, 'spawn')
    // Between the start and its own program it is still a copy of this process.
    await expect.poll(() => processesWith(mark).map(({ id }) => id)).toEqual([child.pid])
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(processesWith(mark)).toEqual([])
  })
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), `${mark}-`))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}
