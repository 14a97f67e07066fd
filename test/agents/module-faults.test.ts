import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { built } from '../support/built.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-module-'))
})
afterEach(() => rm(directory, { recursive: true }))

const script = `
import { loadModuleAgent } from ${JSON.stringify(built('agents/module.js').href)}
const [endpoint, directory] = process.argv.slice(1)
const config = { id: 'm', name: 'M', endpoint, protocol: 'module' }
const agent = await loadModuleAgent(config, directory).catch((error) => error)
console.log(agent instanceof Error ? agent.message : await agent.process())`

/** What a process of its own, in which Node loads modules itself, gets of the first of the files. */
async function load(
  files: Readonly<Record<string, string>>,
  ...nodeOptions: readonly string[]
): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  const [first] = Object.keys(files)
  const args = [...nodeOptions, '--input-type=module', '-e', script, '--', `./${first}`, directory]
  const env = { ...process.env, NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  expect(stdout).not.toContain(directory)
  return stdout.trim()
}

const cannot = (file: string, reason: string): string =>
  `Invalid field value for endpoint: ./${file} (cannot be loaded: ${reason})`

describe('a module that cannot be loaded is told with file, line and column', () => {
  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'where it is no JavaScript',
      { 'a.mjs': `const a = 1\n\nexport default () => {\n  return a +* 2\n}\n` },
      `a.mjs:4:13: Unexpected token '*'`,
    ],
    [
      'where it ends too early',
      { 'a.mjs': 'export default (\n' },
      'a.mjs:2:1: Unexpected end of input',
    ],
    [
      'where it is what a module imports',
      { 'a.mjs': `import './lib/b.mjs'\nexport default () => 'x'`, 'lib/b.mjs': `\n  let a = ;` },
      `lib/b.mjs:2:11: Unexpected token ';'`,
    ],
    [
      'where it is CommonJS',
      { 'a.cjs': `module.exports = () => {\n  return 1 +* 2\n}` },
      `a.cjs:2:13: Unexpected token '*'`,
    ],
    [
      'where a name is not exported',
      { 'a.mjs': `import { b } from './b.mjs'\nexport default b`, 'b.mjs': 'export const c = 1' },
      `a.mjs:1:10: The requested module './b.mjs' does not provide an export named 'b'`,
    ],
    [
      'where it throws',
      { 'a.mjs': `function f() {\n  throw new Error('boom')\n}\nf()` },
      'a.mjs:2:9: boom',
    ],
    [
      'where a file is missing',
      { 'a.mjs': `import './b.mjs'` },
      `Cannot find module './b.mjs' imported from ./a.mjs: is the path right, with its extension?`,
    ],
    ['but not where there is no place', { 'a.mjs': 'throw 7' }, 'it failed'],
  ])('%s', async (_where, files, reason) => {
    expect(await load(files)).toBe(cannot(Object.keys(files)[0] ?? '', reason))
  })
})

describe('TypeScript', () => {
  const typed = { 'a.ts': `const word: string = 'typed'\nexport default (): string => word` }
  const withEnum = { 'a.ts': `enum Word { A = 'typed' }\nexport default () => Word.A` }
  const broken = { 'a.ts': `const a: number =\nexport default () => a` }
  const runs = Boolean(Reflect.get(process.features, 'typescript'))

  test('is an agent under a loader that knows it', async () => {
    expect(await load(typed, '--import', 'tsx')).toBe('typed')
    expect(await load(withEnum, '--import', 'tsx')).toBe('typed')
    const reason = 'a.ts:2:1: Unexpected "export"'
    expect(await load(broken, '--import', 'tsx')).toBe(cannot('a.ts', reason))
  })

  test.skipIf(runs)('is refused by a Node that does not know it, with what to do', async () => {
    const advice =
      `Unknown file extension ".ts" for ./a.ts; Node ${process.version} does not run TypeScript: ` +
      'use Node 22.18 or newer, start with NODE_OPTIONS="--import tsx" (after npm install tsx), ' +
      'or compile it and name the .js file'
    expect(await load(typed)).toBe(cannot('a.ts', advice))
  })

  test.runIf(runs)('is an agent where Node knows it', async () => {
    expect(await load(typed)).toBe('typed')
    expect(await load(broken)).toBe(cannot('a.ts', 'a.ts:2:1: Expression expected'))
    const advice =
      'a.ts:1:1: TypeScript enum is not supported in strip-only mode; ' +
      'leave it out, or start with NODE_OPTIONS="--import tsx" (after npm install tsx)'
    expect(await load(withEnum)).toBe(cannot('a.ts', advice))
  })
})
