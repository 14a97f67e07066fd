import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-check-'))
  for (const folder of ['src/shared', 'scripts/check'])
    mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'package.json'), '{}')
})
afterEach(() => rmSync(root, { recursive: true }))

test('the command ends with 1 and names the error', async () => {
  writeSource('a.ts', "import '../engine/engine.ts'\n")
  const { code, stderr } = await check()
  expect(code).toBe(1)
  expect(stderr).toContain('layers: shared/a.ts: may not import engine/engine.ts\n')
})

test('the ratchet is recorded, names what rises, and does not record a rise', async () => {
  writeSource('a.ts', '// for nobody\n// told\n')
  expect((await check()).stderr).toContain('shape: bannedWords is 2 and not recorded')
  await check('--record')
  expect(recorded().bannedWords).toBe(2)

  writeSource('a.ts', '// for nobody\n')
  expect((await check()).stdout).toContain(
    'shape: bannedWords fell from 2 to 1; record it: npx tsx scripts/check.ts --record\n',
  )
  await check('--record')
  expect(recorded().bannedWords).toBe(1)

  writeSource('b.ts', '// elsewhere\n')
  const { stderr } = await check('--record')
  expect(stderr).toContain(
    'shape: bannedWords rose from 1 to 2:\nshape:   shared/a.ts:1: // for nobody\nshape:   shared/b.ts:1: // elsewhere\n',
  )
  expect(recorded().bannedWords).toBe(1)
})

function writeSource(name: string, text: string): void {
  writeFileSync(join(root, 'src/shared', name), text)
}

function recorded(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(join(root, 'scripts/check/ratchet.json'), 'utf8')).shape
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function check(...flags: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const args = ['--import', 'tsx', 'scripts/check.ts', root, ...flags]
    const child = execFile(process.execPath, args, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}
