import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../scripts/package/limits.ts'
import { deadLinks } from '../scripts/package/links.ts'
import { packInto, type Tarball } from '../scripts/package/tarball.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const home = mkdtempSync(join(tmpdir(), 'corral-package-'))
const corral = join(home, 'node_modules/.bin/corral')
/** Every entrance, as users name it. */
const entrances = Object.keys(manifest.exports)
  .map((path) => path.replace(/^\./, manifest.name))
  .filter((name) => !name.endsWith('.json'))
let tarball: Tarball

beforeAll(async () => {
  tarball = await packInto(home, root)
  writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, tarball.path], { cwd: home })
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('the package, installed elsewhere', () => {
  test.each([
    ['import, in a project of ES modules', 'imports.mjs', 'await import(name)'],
    ['import(), in a project as npm init makes it', 'plain/imports.js', 'await import(name)'],
    ['require, in a project as npm init makes it', 'plain/requires.js', 'require(name)'],
  ])('gives every entrance to %s', async (_, file, load) => {
    mkdirSync(join(home, 'plain'), { recursive: true })
    writeFileSync(join(home, 'plain/package.json'), '{"name":"plain","version":"1.0.0"}')
    writeFileSync(
      join(home, file),
      `(async () => {
        for (const name of ${JSON.stringify(entrances)}) {
          const names = Object.keys(${load})
          if (names.length > 0) console.log(name)
        }
      })()`,
    )
    const env = { ...process.env, NODE_OPTIONS: '' }
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: home, env })
    expect(stdout.trim().split('\n')).toEqual(entrances)
    expect(stderr).toBe('')
  })

  test.each([
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ])('has types that a strict project takes, found by %s', async (moduleResolution, module) => {
    const imports = entrances.map((name, i) => `import * as entrance${i} from '${name}'`)
    const uses = `console.log(${entrances.map((_, i) => `entrance${i}`).join(', ')})`
    writeFileSync(join(home, 'uses.ts'), [...imports, uses, ...typedUses].join('\n'))
    const compilerOptions = {
      target: 'es2022',
      module,
      moduleResolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
    }
    const config = { compilerOptions, files: ['uses.ts'] }
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/.bin/tsc')
    const { stdout } = await run(tsc, ['-p', home]).catch((error: { stdout: string }) => error)
    expect(stdout).toBe('')
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
    expect(tarball.files).toContain('data/tau2/LICENSE')
    const ended = run(corral, ['eval', 'check', 'tau2:mock', '--json'], { cwd: home })
    // Two of its tasks have no solution: the check ends with 1, and says so.
    const { stdout } = await ended.catch((error: { readonly stdout: string }) => error)
    expect(JSON.parse(stdout)).toMatchObject({ domain: 'tau2:mock', oracle: { passed: 8, of: 10 } })
  })

  test('brings no tests, sources or build state', () => {
    const stray = tarball.files.filter(
      (path) =>
        /^(src|test|test-slow|bench|scripts|\.ci)\/|tsbuildinfo|npmignore/.test(path) &&
        path !== 'bench/chart.svg',
    )
    expect(stray).toEqual([])
  })

  test('brings what its pages link to', () => {
    const { files } = tarball
    expect(files).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'SECURITY.md']))
    expect(deadLinks(files, (page) => readFileSync(join(root, page), 'utf8'))).toEqual([])
  })

  test('is small, and so are its pictures', () => {
    expect(tarball.bytes).toBeLessThan(limits.packed)
    expect(tarball.unpackedBytes).toBeLessThan(limits.unpacked)
    const pictures = tarball.files.filter((path) => /\.(png|jpe?g|webp|gif|svg)$/.test(path))
    const sizes = pictures.map((path) => ({ path, bytes: statSync(join(root, path)).size }))
    expect(sizes.filter(({ bytes }) => bytes > limits.picture)).toEqual([])
  })
})

/** A few lines of a user's, which the compiler must understand by the types alone. */
const typedUses = [
  "import { textOf } from 'corral'",
  "import { defineAgent } from 'corral/agents'",
  "import { A2AClient } from 'corral/client'",
  "import { createServer, listen } from 'corral/server'",
  "import { defineTeam } from 'corral/team'",
  "const echo = defineAgent({ name: 'Echo' }, ({ parts }) => textOf(parts))",
  "const steps = [{ agentId: 'echo' }] as const",
  "const team = defineTeam({ id: 't', name: 'T', agents: { echo }, scheduler: { type: 'workflow', steps } })",
  'const { url } = await listen(await createServer({ agents: [team] }), { port: 0 })',
  "const answer: string = await new A2AClient(url).run('hi')",
  'console.log(answer)',
]
