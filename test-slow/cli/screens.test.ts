import { describe, expect, test } from 'vitest'
import { corral, type Started, type StartOptions } from '../../test/cli/corral.ts'
import { plan, serveDesk } from '../../test/cli/desk.ts'
import { screenAfter } from '../../test/cli/emulator.ts'
import { hasTerminal, startInTerminal, type TerminalSize } from '../../test/cli/terminal.ts'

const size = { columns: 110, rows: 24 }
const env = { TERM: 'xterm-256color', NO_COLOR: undefined }
const frames = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/
/** The spinner of the writer, in any frame: a busy machine may draw the first one late. */
const waiting = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] writer {2}\d+ s/
const codeColour = '38;5;37'
const ctrlC = '\u0003'
const up = '\u001b[A'

/** Starts the command in a terminal of a known kind and size. */
function begin(
  args: readonly string[],
  options: StartOptions & { size?: TerminalSize } = {},
): Started {
  return startInTerminal(args, { size, ...options, env: { ...env, ...options.env } })
}

/** The screen when a command has ended; amounts of time are made the same. */
async function screenOf(started: Started, columns = size.columns): Promise<string[]> {
  return screenAfter((await started.ended).stdout, columns).map(withoutTimes)
}

function withoutTimes(line: string): string {
  return line
    .replace(/ *\b\d+(?:\.\d)? (?:ms|s)\b/g, ' T')
    .replace(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')
}

const planSeen = [
  'The launch',
  '',
  'The plan is ready, and short: see the page (https://example.com/plan).',
  '',
  '• write the words that everybody will read on the first morning of the launch, and not before',
  '• ask critic',
  '',
  '│ Said the critic: good.',
  '',
  'step  │ who',
  '──────┼───────',
  'draft │ writer',
  '審査  │ critic',
  '',
  '  sh',
  '  corral serve team.toml',
  'Done.',
]

const tree = [
  'trace T  44 → 28 tokens',
  '└─ lead T  22 → 14  The launch The plan',
  '   ├─ model lead T   11 → 7  delegate_to_writer, delegate_to_critic',
  '   ├─ writer T   11 → 7  Once upon a launch …',
  '   │  └─ model writer T   11 → 7  Once upon a launch …',
  '   ├─ critic T   11 → 7  Good.',
  '   │  └─ model critic T   11 → 7  Good.',
  '   └─ model lead T   11 → 7  The launch The plan',
]

/** The tree within these lines, its long answers cut, and writer and critic in that order. */
function treeIn(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => line.startsWith('trace'))
  return lines.slice(from, from + tree.length).map((line) => line.replace(/(The plan).*/, '$1'))
}

describe.runIf(hasTerminal)('a terminal shows a team at work', () => {
  test('send --stream renders markdown and tells delegations as they happen', async () => {
    const { url } = await serveDesk()
    const lines = await screenOf(begin(['send', url, 'Plan the launch', '--stream']))
    const from = lines.indexOf('The launch')
    expect(lines.slice(from, from + planSeen.length)).toEqual(planSeen)
    const told = lines.slice(0, from).sort()
    expect(told).toEqual([
      '  ← critic T  11 → 7 tokens  Good.',
      '  ← writer T  11 → 7 tokens  Once upon a launch …',
      '  → critic  Judge the launch',
      '  → writer  Write the launch',
      '→ lead  Plan the launch',
    ])
    expect(lines.slice(from + planSeen.length)).toEqual([
      '← lead T  22 → 14 tokens',
      'task ID completed, context ID',
      '',
    ])
  })

  test('send --trace shows the tree of delegations with times and tokens', async () => {
    const { url } = await serveDesk()
    for (const flags of [['--trace'], ['--trace', '--stream']])
      expect(treeIn(await screenOf(begin(['send', url, 'Plan the launch', ...flags])))).toEqual(
        tree,
      )
  })

  test('every member has a colour of its own, the same wherever it appears', async () => {
    const { url } = await serveDesk()
    const args = ['send', url, 'Plan the launch', '--stream', '--trace']
    const outputs = await Promise.all([begin(args).ended, begin(args).ended])
    const colours = new Set<string>()
    for (const member of ['lead', 'writer', 'critic']) {
      const shown = new RegExp(`\\u001b\\[(38;5;\\d+)m${member}\\b`, 'g')
      const found = outputs
        .flatMap(({ stdout }) => [...stdout.matchAll(shown)].map(([, one]) => one))
        .filter((colour) => colour !== codeColour)
      expect(found).toHaveLength(6)
      expect(new Set(found).size).toBe(1)
      colours.add(found[0] ?? '')
    }
    expect(colours.size).toBe(3)
  })

  test('a spinner tells who is waited for, and leaves nothing behind', async () => {
    const desk = await serveDesk()
    const unlively = [{ CI: 'true' }, { TERM: 'dumb' }].map((more) =>
      begin(['send', desk.url, 'wait for it', '--stream'], { env: more }),
    )
    for (const one of unlively) await one.seen(/→ \S*writer/)
    const lively = begin(['send', desk.url, 'wait for it', '--stream'])
    await lively.seen(waiting)
    await lively.seen(/writer {2}1 s/)
    desk.release()
    const { stdout } = await lively.ended
    expect(stdout).toMatch(frames)
    expect(screenAfter(stdout, size.columns).join('\n')).not.toMatch(frames)
    expect(screenAfter(stdout, size.columns).map(withoutTimes)).toContain(
      '← lead T  22 → 14 tokens',
    )
    for (const one of unlively) expect((await one.ended).stdout).not.toMatch(frames)
  })

  test.each([
    ['NO_COLOR', { NO_COLOR: '1' }, []],
    ['--no-color', {}, ['--no-color']],
    ['TERM=dumb', { TERM: 'dumb' }, []],
  ])('%s sends no style, and the text as it came', async (_name, more, flags) => {
    const { url } = await serveDesk()
    const args = ['send', url, 'Plan the launch', '--stream', '--trace', ...flags]
    const { stdout } = await begin(args, { env: more }).ended
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
    expect(stdout).not.toMatch(/\u001b\[[\d;]*m/)
    expect(stdout.replaceAll('\r', '')).toContain(plan)
    expect(treeIn(screenAfter(stdout, size.columns).map(withoutTimes))).toEqual(tree)
  })

  test('task list fits its table into the window', async () => {
    const { url } = await serveDesk()
    await corral(['send', url, `Plan the 発売 ${'with very many words '.repeat(10)}`])
    const narrow = await screenOf(
      begin(['task', 'list', url], { size: { columns: 80, rows: 24 } }),
      80,
    )
    expect(narrow[0]).toMatch(/^TASK +STATE +AGE +WORDS$/)
    expect(narrow[1]).toMatch(/^ID {2}completed T {2}Plan the 発売 with very.*…$/)
    const wide = begin(['task', 'list', url], { size: { columns: 140, rows: 24 } })
    const [head, row] = await screenOf(wide, 140)
    expect(head).toMatch(/^TASK +STATE +AGE +CONTEXT +WORDS$/)
    expect(row).toMatch(/ID {2}Plan the 発売 with very many words.*…$/)
  })

  test('task watch shows the tree as it grows, with what happened before', async () => {
    const desk = await serveDesk()
    const { stdout } = await corral(['send', desk.url, 'wait for it', '--no-wait', '--json'])
    const { id } = JSON.parse(stdout).task
    await desk.asked
    const watching = begin(['task', 'watch', desk.url, id])
    await watching.seen(/model critic/)
    await watching.seen(/writer {2}1 s/)
    const { output } = watching
    const frame = output.slice(output.lastIndexOf('\u001b[J'))
    expect(screenAfter(frame, size.columns).map(withoutTimes)).toEqual([
      'trace T  11 → 7 tokens',
      '└─ … lead T          wait for it',
      '   ├─ model lead T  11 → 7  delegate_to_writer, delegate_to_critic',
      '   ├─ … writer T          wait, then write',
      '   └─ critic T  11 → 7  Good.',
      '      └─ model critic T  11 → 7  Good.',
      expect.stringMatching(/^\S writer T$/),
    ])
    desk.release()
    const lines = await screenOf(watching)
    expect(treeIn(lines)).toEqual(tree)
    expect(lines.join('\n')).not.toMatch(frames)
    expect(lines.at(-2)).toBe('task ID completed')
  })
})

describe.runIf(hasTerminal)('corral chat', () => {
  test('has commands, and says so where there is none of that name', async () => {
    const { url } = await serveDesk()
    const chat = begin(['chat', url])
    const lines = [
      '/task',
      '/trace',
      '/cancel',
      'Plan it',
      '/trace',
      '/task',
      '/nope',
      '//nope',
      '/new',
      '/task',
      '/help',
      '/quit',
    ]
    for (const [i, line] of lines.entries()) {
      await chat.seen(new RegExp(`(?:you> (?:(?!you> )[\\s\\S])*){${i + 1}}`))
      chat.write(`${line}\r`)
    }
    expect((await chat.ended).code).toBe(0)
    const screen = (await screenOf(chat)).join('\n')
    const [, ...parts] = screen.split('you> ')
    const answers = parts.map((part) => part.split('\n').slice(1, -1))
    expect(answers[0]).toEqual(['There is no task yet.'])
    expect(answers[1]).toEqual(['There is no task yet.'])
    expect(answers[2]).toEqual(['Nothing runs.'])
    expect(answers[3]).toEqual(expect.arrayContaining(planSeen))
    expect(treeIn(answers[4] ?? [])).toEqual(tree)
    expect(answers[5]).toEqual(['task ID completed, context ID'])
    expect(answers[6]?.[0]).toBe('corral: There is no command /nope')
    expect(answers[7]).toEqual(expect.arrayContaining(['→ lead  /nope']))
    expect(answers[9]).toEqual(['There is no task yet.'])
    for (const name of ['help', 'new', 'task', 'trace', 'cancel', 'quit'])
      expect(answers[10]?.join('\n')).toMatch(new RegExp(`^/${name} +\\S`, 'm'))
  })

  test.each([
    ['Ctrl-C', ctrlC],
    ['/cancel', '/cancel\r'],
  ])('%s during an answer cancels the task, at once', async (_name, keys) => {
    const { url } = await serveDesk()
    const chat = begin(['chat', url])
    await chat.seen(/you> /)
    chat.write('wait for it\r')
    await chat.seen(waiting)
    chat.write(keys)
    await chat.seen(/\[canceled\][\s\S]*you> /)
    chat.write(ctrlC)
    const { code, stdout } = await chat.ended
    expect(code).toBe(0)
    expect(screenAfter(stdout, size.columns).join('\n')).not.toMatch(frames)
    const { tasks } = JSON.parse((await corral(['task', 'list', url, '--json'])).stdout)
    expect(tasks).toMatchObject([{ status: { state: 'TASK_STATE_CANCELED' } }])
  })

  test('what is typed during an answer is seen when it is its turn, and earlier lines come back', async () => {
    const desk = await serveDesk()
    const chat = begin(['chat', desk.url])
    await chat.seen(/you> /)
    chat.write('wait for it\r')
    await chat.seen(waiting)
    chat.write('/task\r/ta')
    desk.release()
    // The line before it is in the history only once it has run; a line that is drawn again looks the same sooner.
    await chat.seen(/task [\da-f-]{36} completed[\s\S]*you> \S*\/ta/)
    chat.write(`\u0015${up}\r`)
    await chat.seen(/(?:task [\da-f-]{36} completed[\s\S]*){2}you> /)
    chat.write(ctrlC)
    const screen = (await screenOf(chat)).join('\n')
    expect(screen.match(/you> \/task/g)).toHaveLength(2)
    expect(screen).not.toMatch(/launch.*\/task/)
  })
})

describe('without a terminal', () => {
  test('the answer is the text as it came, and the tree is beside it', async () => {
    const { url } = await serveDesk()
    for (const flags of [[], ['--stream']]) {
      const { stdout, stderr } = await corral(['send', url, 'Plan it', '--trace', ...flags], {
        env,
      })
      expect(stdout).toBe(`${plan}\n`)
      expect(stderr).not.toContain('\u001b')
      expect(treeIn(stderr.split('\n').map(withoutTimes))).toEqual(tree)
    }
  })

  test('task get --trace shows the tree below the task', async () => {
    const { url } = await serveDesk()
    const { task } = JSON.parse((await corral(['send', url, 'Plan it', '--json'])).stdout)
    const { stdout } = await corral(['task', 'get', url, task.id, '--trace'])
    expect(stdout).toContain(plan)
    expect(treeIn(stdout.split('\n').map(withoutTimes))).toEqual(tree)
  })

  test('JSON has the trace where it is asked for, and only there', async () => {
    const { url } = await serveDesk()
    const uri = 'urn:corral:extensions:trace:v1'
    const plain = await corral(['send', url, 'Plan it', '--json'])
    expect(plain.stdout).not.toContain(uri)
    const traced = await corral(['send', url, 'Plan it', '--json', '--trace'])
    const { task } = JSON.parse(traced.stdout)
    expect(task.metadata[uri][0]).toMatchObject({ type: 'delegation', member: 'lead' })
    const got = await corral(['task', 'get', url, task.id, '--json', '--trace'])
    expect(JSON.parse(got.stdout)).toEqual(task)
    expect(traced.stderr).toBe('')
  })

  test('an agent without a trace says so', async () => {
    const { url } = await serveDesk({ trace: false })
    const { code, stderr } = await corral(['send', url, 'Plan it', '--trace'])
    expect(code).toBe(0)
    expect(stderr).toContain('There is no trace')
  })
})
