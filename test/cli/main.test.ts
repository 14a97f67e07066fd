import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { corral, main, startProcess, temporary } from './corral.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe('corral', () => {
  test('tells its version', async () => {
    expect(await corral(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n` })
  })

  test('needs nothing but its own file to tell the version', async () => {
    const directory = temporary()
    mkdirSync(join(directory, 'dist/cli'), { recursive: true })
    copyFileSync(main, join(directory, 'dist/cli/main.js'))
    writeFileSync(join(directory, 'package.json'), '{"type":"module","version":"1.2.3"}')
    const alone = startProcess(process.execPath, [join(directory, 'dist/cli/main.js'), '-V'])
    expect(await alone.ended).toMatchObject({ code: 0, stdout: '1.2.3\n' })
  })

  test('says which Node it needs before it loads anything else', async () => {
    const bin = fileURLToPath(new URL('corral.cjs', `file://${main}`))
    const directory = temporary()
    const fake = join(directory, 'fake.cjs')
    const pretend = (version: string) => {
      const value = JSON.stringify({ value: version })
      writeFileSync(fake, `Object.defineProperty(process.versions, 'node', ${value})\n`)
      // Alone in its package: whatever it loaded besides would be missed.
      mkdirSync(join(directory, 'dist/cli'), { recursive: true })
      copyFileSync(bin, join(directory, 'dist/cli/corral.cjs'))
      writeFileSync(join(directory, 'package.json'), '{"engines":{"node":">=20.19"}}')
      const args = ['--require', fake, join(directory, 'dist/cli/corral.cjs'), 'serve']
      return startProcess(process.execPath, args).ended
    }
    for (const version of ['18.20.8', '20.18.3', '10.24.1'])
      expect(await pretend(version)).toEqual({
        code: 2,
        stdout: '',
        stderr: `corral: Corral needs Node ≥ 20.19, this is ${version}: install a newer one from https://nodejs.org, or with a version manager: nvm install 22\n`,
      })
    expect((await pretend('20.19.0')).stderr).toContain('main.js')
    expect((await pretend('24.1.0')).stderr).toContain('main.js')
  })

  test('what npm links can be run as it is built', () => {
    accessSync(new URL('corral.cjs', `file://${main}`), constants.X_OK)
  })

  test('what npm links is written so that old versions of Node can read it', () => {
    expect(manifest.bin.corral).toBe('./dist/cli/corral.cjs')
    const text = readFileSync(new URL('corral.cjs', `file://${main}`), 'utf8')
    expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
    const code = text.replace(/\/\/.*|'[^']*'|`[^`]*`/g, '')
    expect(code).not.toMatch(/\?\.|\?\?|\bawait\b|\basync\b|^import\b|^export\b|#\w+[ (=]|node:/m)
  })

  test('shows all commands, with examples', async () => {
    const { code, stdout } = await corral(['--help'])
    expect(code).toBe(0)
    const names = ['serve', 'demo', 'init', 'validate', 'card', 'send', 'chat', 'task', 'mcp']
    for (const name of [...names, 'eval', 'backup', 'webhooks'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(stdout).toContain('Examples:')
  })

  test('shows how each command is used', async () => {
    const simple = ['serve', 'demo', 'init', 'validate', 'card', 'send', 'chat', 'mcp', 'backup']
    const nested = ['task list', 'webhooks redrive', 'eval run', 'eval report', 'eval serve']
    for (const command of [...simple, ...nested]) {
      const { code, stdout } = await corral([...command.split(' '), '--help'])
      expect(code).toBe(0)
      expect(stdout).toContain(`Usage: corral ${command}`)
      expect(stdout).toContain('--json')
      expect(stdout).toContain('Examples:')
    }
  })

  test('shows the help of eval, and of a command after help', async () => {
    expect((await corral(['eval', '--help'])).stdout).toContain('Usage: corral eval')
    expect((await corral(['help', 'send'])).stdout).toContain('Usage: corral send')
  })

  test('shows its help where nothing is asked for', async () => {
    expect(await corral([])).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    [['sevre', 'x.toml'], 'Did you mean serve?'],
    [['send', 'http://localhost'], "missing required argument 'text'"],
    [['serve', 'x.toml', '--port', '70000'], 'A port is a number from 0 to 65535.'],
    [['card', 'http://localhost', '--binding', 'soap'], 'Allowed choices are jsonrpc, rest.'],
    [['task', 'list', 'http://localhost', '--state', 'odd'], 'Known states: submitted, working'],
    [['card', 'http://localhost', '--header', 'nonsense'], 'Write it as "Name: value".'],
  ])('refuses %j with code 2 and says why', async (args, words) => {
    const { code, stderr } = await corral(args)
    expect(code).toBe(2)
    expect(stderr).toContain(words)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('shows where an error comes from only to debug', async () => {
    const plain = await corral(['card', 'ftp://nowhere'])
    expect(plain).toMatchObject({ code: 2, stdout: '' })
    expect(plain.stderr).toBe(
      'corral: "ftp://nowhere" is no URL\nWrite it as http://localhost:3000.\n',
    )
    const debug = await corral(['card', 'ftp://nowhere', '--debug'])
    expect(debug.stderr).toMatch(/^\s+at /m)
  })

  test('tells errors as JSON where JSON is asked for', async () => {
    const { code, stdout } = await corral(['card', 'http://127.0.0.1:1', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.any(String) } })
  })
})
