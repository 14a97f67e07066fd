import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createFollower } from '../../../scripts/follow/pages.ts'
import type { Places } from '../../../scripts/follow/places.ts'
import { answers } from '../../../scripts/follow/port.ts'
import type { Done } from '../../../scripts/follow/walk.ts'

/** Where the latest page was followed. */
let folder = ''
const folders: string[] = []
afterEach(() => {
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true })
})

/** Every place is an empty folder. */
const places: Places = {
  tarball: async () => 'corral.tgz',
  make: async (_place, path) => void mkdirSync(path),
  environment: async (home) => ({ HOME: home, PATH: process.env.PATH ?? '' }),
}

/** What becomes of a page. */
async function follow(text: string, maxMs = 20_000): Promise<readonly Done[]> {
  folder = mkdtempSync(join(tmpdir(), 'corral-follow-test-'))
  folders.push(folder)
  const nothing = (): void => {}
  const claimPort = async () => async () => {}
  const follower = createFollower({
    places,
    folder,
    maxMs,
    claimPort,
    begin: nothing,
    tell: nothing,
  })
  const followed = await follower.follow({ name: 'page.md', text, place: 'project' })
  return followed.flatMap(({ done }) => done)
}

const sh = (...lines: readonly string[]): string => ['```sh', ...lines, '```'].join('\n')
const shown = (...lines: readonly string[]): string => ['```text', ...lines, '```'].join('\n')
const outcomes = (done: readonly Done[]): readonly string[] => done.map(({ outcome }) => outcome)
const inFolder = (...path: readonly string[]): string => join(folder, '1', 'work', ...path)

describe('commands of a page', () => {
  test('run line by line, with comments and blank lines left out', async () => {
    const done = await follow(sh('# first', 'echo one > a.txt', '', 'cp a.txt b.txt'))
    expect(done.map(({ line, command }) => [line, command])).toEqual([
      [3, 'echo one > a.txt'],
      [5, 'cp a.txt b.txt'],
    ])
    expect(readFileSync(inFolder('b.txt'), 'utf8')).toBe('one\n')
  })

  test('find folder and variables as the command before left them', async () => {
    const page = [sh('mkdir inner && cd inner', 'WORD="two words"'), '', sh('echo "$WORD" > a.txt')]
    expect(outcomes(await follow(page.join('\n')))).toEqual(['ok', 'ok', 'ok'])
    expect(readFileSync(inFolder('inner/a.txt'), 'utf8')).toBe('two words\n')
  })

  test('may go over several lines, by a backslash or an open quotation', async () => {
    const done = await follow(sh("echo '{", ' "a": 1', "}' > a.json", 'echo \\', '  b >> a.json'))
    expect(outcomes(done)).toEqual(['ok', 'ok'])
    expect(readFileSync(inFolder('a.json'), 'utf8')).toBe('{\n "a": 1\n}\nb\n')
  })

  test('see a home of their own, and nothing of the environment', async () => {
    process.env.CORRAL_FOLLOW_TEST = 'seen'
    const done = await follow(sh('test -z "$CORRAL_FOLLOW_TEST"', 'test -z "$(ls "$HOME")"'))
    delete process.env.CORRAL_FOLLOW_TEST
    expect(outcomes(done)).toEqual(['ok', 'ok'])
  })

  test('stop the walk where one fails, with what it printed', async () => {
    const done = await follow(sh('echo before >&2; exit 3', 'touch after.txt'))
    expect(done).toMatchObject([
      { line: 2, outcome: 'fault', reason: 'ended with 3', output: 'before\n' },
    ])
    expect(existsSync(inFolder('after.txt'))).toBe(false)
  })

  test('stop the walk where one does not end', async () => {
    const done = await follow(sh('sleep 60'), 300)
    expect(done).toMatchObject([
      { outcome: 'fault', reason: expect.stringContaining('did not end within 0.3 s') },
    ])
  })

  test('may be meant to fail', async () => {
    const mark = '<!-- follow: fails -->\n'
    expect(outcomes(await follow(mark + sh('echo fine', 'false')))).toEqual(['ok', 'ok'])
    const [done] = await follow(mark + sh('true'))
    expect(done).toMatchObject({ outcome: 'fault', reason: 'ended with 0, though it is to fail' })
  })

  test('are skipped with a reason', async () => {
    const done = await follow(`<!-- follow: skip needs systemd -->\n${sh('systemctl start x')}`)
    expect(done).toMatchObject([
      { line: 3, command: 'systemctl start x', outcome: 'skipped', reason: 'needs systemd' },
    ])
  })
})

describe('what a command prints', () => {
  const print = sh('echo one', 'echo "took 12 ms, fine"')

  test('is held against the page, line by line in its order', async () => {
    const page = `${print}\n\n${shown('one', '…', 'took … ms, fine')}`
    expect(outcomes(await follow(page))).toEqual(['ok', 'ok'])
  })

  test('is a fault where a line is missing, or comes too early', async () => {
    const [, missing] = await follow(`${print}\n\nIt prints:\n\n${shown('one', 'two')}`)
    expect(missing).toMatchObject({ outcome: 'fault', reason: 'did not print: two' })
    const [, early] = await follow(`${print}\n${shown('took …', 'one')}`)
    expect(early).toMatchObject({ outcome: 'fault', reason: 'did not print: one' })
  })

  test('is not looked for below the next heading', async () => {
    expect(outcomes(await follow(`${print}\n\n## Other\n\n${shown('two')}`))).toEqual(['ok', 'ok'])
  })
})

describe('servers of a page', () => {
  const program = [
    "import { createServer } from 'node:http'",
    "import { writeFileSync } from 'node:fs'",
    "const server = createServer((_, response) => response.end('hello'))",
    "server.listen(0, '127.0.0.1', () => {",
    '  const { port } = server.address()',
    "  writeFileSync('port', String(port))",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the program has the placeholder.
    '  console.log(`Listens at http://127.0.0.1:${port}`)',
    '})',
  ]
  const saved = ['<!-- file: server.mjs -->', '```js', ...program, '```'].join('\n')
  const started = `<!-- follow: background -->\n${sh('node server.mjs')}`
  const asked = sh('curl -s "http://127.0.0.1:$(cat port)"')
  const portOf = (): number => Number(readFileSync(inFolder('port'), 'utf8'))

  test('run until the page ends', async () => {
    const page = [saved, started, asked, shown('hello')].join('\n\n')
    expect(outcomes(await follow(page))).toEqual(['ok', 'ok', 'ok'])
    expect(await answers(portOf())).toBe(false)
  })

  test('end also where the page has a fault', async () => {
    const done = await follow([saved, started, sh('false')].join('\n\n'))
    expect(outcomes(done)).toEqual(['ok', 'ok', 'fault'])
    expect(await answers(portOf())).toBe(false)
  })

  test('end where the page says so', async () => {
    const page = [saved, started, '<!-- follow: stop -->', '<!-- follow: fails -->', asked]
    expect(outcomes(await follow(page.join('\n')))).toEqual(['ok', 'ok', 'ok'])
  })

  test('must print what the page shows, and go on', async () => {
    const good = [saved, started, shown('Listens at http://127.0.0.1:…')].join('\n\n')
    expect(outcomes(await follow(good))).toEqual(['ok', 'ok'])
    const [, silent] = await follow([saved, started, shown('Ready')].join('\n\n'), 1_000)
    expect(silent).toMatchObject({ outcome: 'fault', reason: 'did not print: Ready' })
    const [ended] = await follow(`<!-- follow: background -->\n${sh('echo http://localhost:1')}`)
    expect(ended).toMatchObject({ outcome: 'fault', reason: 'ended with 0, though it is to go on' })
  })
})

describe('files of a page', () => {
  test('are saved where the reader stands', async () => {
    const block = '<!-- file: lib/a.mjs -->\n<!-- snippet: x.ts -->\n```js\nconsole.log(1)\n```'
    const done = await follow([sh('mkdir b && cd b'), block, sh('node lib/a.mjs')].join('\n\n'))
    expect(outcomes(done)).toEqual(['ok', 'ok', 'ok'])
    expect(readFileSync(inFolder('b/lib/a.mjs'), 'utf8')).toBe('console.log(1)\n')
  })
})

describe('a page with a mark that nobody understands', () => {
  test.each([
    ['<!-- follow: backgruond -->\n```sh\ntrue\n```', 'backgruond'],
    ['<!-- follow: skip -->\n```sh\ntrue\n```', 'skip'],
    ['<!-- file: a.mjs -->\n\n```js\n1\n```', 'above no block'],
    ['<!-- follow: in nowhere -->', 'in nowhere'],
  ])('is a fault: %j', async (text, reason) => {
    expect(await follow(text)).toMatchObject([
      { outcome: 'fault', reason: expect.stringContaining(reason) },
    ])
  })
})
