import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('the command ends with 1 and names the fault', async () => {
  const root = mkdtempSync(join(tmpdir(), 'corral-check-'))
  try {
    mkdirSync(join(root, 'src', 'shared'), { recursive: true })
    writeFileSync(join(root, 'package.json'), '{}')
    writeFileSync(join(root, 'src', 'shared', 'a.ts'), "import '../engine/engine.ts'\n")
    expect(await check(root)).toEqual({
      code: 1,
      stderr: expect.stringContaining('layers: shared/a.ts: may not import engine/engine.ts\n'),
    })
  } finally {
    rmSync(root, { recursive: true })
  }
})

function check(root: string): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve) => {
    const args = ['--import', 'tsx', 'scripts/check.ts', root]
    const child = execFile(process.execPath, args, (_error, _stdout, stderr) =>
      resolve({ code: child.exitCode, stderr }),
    )
  })
}
