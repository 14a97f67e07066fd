import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const home = mkdtempSync(join(tmpdir(), 'corral-package-'))
let packed: readonly string[] = []
const corral = join(home, 'node_modules/.bin/corral')

beforeAll(async () => {
  const pack = await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: root })
  const [{ filename, files }] = JSON.parse(pack.stdout)
  packed = files.map(({ path }: { path: string }) => path)
  writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, join(home, filename)], { cwd: home })
}, 120_000)

afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('the package, installed elsewhere', () => {
  test('gives every export of its manifest', async () => {
    const names = Object.keys(manifest.exports).map((path) => path.replace(/^\./, manifest.name))
    const code = names.filter((name) => !name.endsWith('.json'))
    writeFileSync(
      join(home, 'imports.js'),
      `for (const name of ${JSON.stringify(code)}) {
        const exports = Object.keys(await import(name))
        console.log(JSON.stringify({ name, exports: exports.length }))
      }`,
    )
    const { stdout } = await run(process.execPath, ['imports.js'], { cwd: home })
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(found.map(({ name }) => name)).toEqual(code)
    for (const { exports } of found) expect(exports).toBeGreaterThan(0)
  })

  test('has types for every export', () => {
    const installed = join(home, 'node_modules', manifest.name)
    for (const target of Object.values(manifest.exports))
      if (typeof target === 'object' && target !== null && 'types' in target)
        expect(readFileSync(join(installed, String(target.types)), 'utf8')).toContain('export')
  })

  test('brings the command', async () => {
    expect((await run(corral, ['--version'])).stdout).toBe(`${manifest.version}\n`)
  })

  test('brings the team of the demo', async () => {
    const team = join(home, 'node_modules', manifest.name, 'examples/fantasy/corral.toml')
    const { stdout } = await run(corral, ['validate', team, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ valid: true, teams: ['fantasy-writing-team'] })
  })

  test("brings tau2's mock domain, and tau2's licence", async () => {
    expect(packed).toContain('data/tau2/LICENSE')
    const ended = run(corral, ['eval', 'check', 'tau2:mock', '--json'], { cwd: home })
    // Two of its tasks have no solution: the check ends with 1, and says so.
    const { stdout } = await ended.catch((error: { readonly stdout: string }) => error)
    expect(JSON.parse(stdout)).toMatchObject({ domain: 'tau2:mock', oracle: { passed: 8, of: 10 } })
  })

  test('brings no tests, sources or build state', () => {
    const stray = packed.filter((path) => /^(src|test|bench|scripts)\/|tsbuildinfo/.test(path))
    expect(stray).toEqual([])
  })
})
