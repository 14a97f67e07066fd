/**
 * Measures what a reader crosses on seven walks through the code: a message, its stream, a team run with a question, the
 * recovery after a kill, a message to a task of another replica, an evaluation, and `corral serve FILE`.
 *
 *   npm run walks [-- [WALK …] [--files] [--check | --record]]
 *
 * Each walk runs in a process of its own over an instrumented copy of `dist`, from the moment when everything is loaded
 * and listens (of `serve` and `recovery`: is loaded) until the walk is over. Counted are the functions that the main thread
 * of that process enters, in order (of `forwarded` those of the replica that is asked, then of the one that runs the task):
 * calls; the different files that they are in; hops, which are calls into another file
 * than that of the call before; and returns, which are hops to a file that was left before. Of three runs the least of each
 * number counts, since timers and sockets add some.
 *
 * `--check` fails where files, hops or returns of a walk are above `check/ratchet.json` by more than 2 % (`forwarded`: 6 %); `--record`
 * writes the numbers that fell.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres-server.ts'
import { compareWalks, readRatchet, recordWalks, writeRatchet } from './check/ratchet.ts'
import { instrumentPackage, numbersOf, record, type WalkNumbers } from './walks/instrument.ts'
import { helpers, type Place, scenes } from './walks/scenes.ts'

const root = join(import.meta.dirname, '..')
const runs = 3

const { values: flags, positionals } = parseArgs({
  options: {
    files: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    measure: { type: 'string' },
    helper: { type: 'string' },
  },
  allowPositionals: true,
})

if (flags.measure !== undefined) await measureHere(flags.measure)
else if (flags.helper !== undefined) await helpHere(flags.helper)
else process.exitCode = await main()

async function main(): Promise<number> {
  const unknown = positionals.find((name) => !scenes[name])
  if (unknown)
    throw new Error(`There is no walk ${unknown}, only ${Object.keys(scenes).join(', ')}`)
  const copy = instrumentPackage(root)
  const postgres = await startPostgres().catch((error: unknown) => {
    console.error(`SKIPPED: the walk forwarded, as PostgreSQL does not start: ${String(error)}`)
  })
  try {
    const measured: Record<string, WalkNumbers> = {}
    console.log(`${'walk'.padEnd(12)} files  calls   hops returns`)
    for (const name of positionals.length > 0 ? positionals : Object.keys(scenes)) {
      if (name === 'forwarded' && !postgres) continue
      const all: MeasuredWalk[] = []
      for (let run = 0; run < runs; run++)
        all.push(await measure(name, { copy, postgres: postgres?.url }))
      const numbers = leastOf(all.map((one) => one.numbers))
      measured[name] = numbers
      const { files, calls, hops, returns } = numbers
      const cells = [files, calls, hops, returns].map((one) => String(one).padStart(6))
      console.log(`${name.padEnd(11)} ${cells.join(' ')}`)
      if (flags.files) for (const file of filesOf(all)) console.log(`  ${file}`)
    }
    return conclude(measured)
  } finally {
    await postgres?.stop()
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Compares with the record, or records. */
function conclude(measured: Readonly<Record<string, WalkNumbers>>): number {
  const ratchet = readRatchet(root)
  const walks = Object.fromEntries(
    Object.entries(measured).map(([name, numbers]) => [name, { ...numbers }]),
  )
  const { risen, fallen, unknown } = compareWalks(ratchet.walks, walks)
  if (flags.record) writeRatchet(root, recordWalks(ratchet, walks))
  if (!flags.check && !flags.record) return 0
  const errors = flags.record ? risen : [...risen, ...unknown]
  for (const line of errors) console.error(`walks: ${line}`)
  const hint = flags.record ? '' : '; record it: npm run walks -- --record'
  for (const line of fallen) console.log(`walks: ${line}${hint}`)
  if (risen.length > 0)
    console.error(
      'walks: to raise a number, edit scripts/check/ratchet.json and add a reason there',
    )
  return errors.length > 0 ? 1 : 0
}

function leastOf(all: readonly WalkNumbers[]): WalkNumbers {
  const least = (name: keyof WalkNumbers): number => Math.min(...all.map((one) => one[name]))
  return {
    files: least('files'),
    calls: least('calls'),
    hops: least('hops'),
    returns: least('returns'),
  }
}

/** The files that every run crossed, as those of `src`. */
function filesOf(all: readonly MeasuredWalk[]): string[] {
  const [first] = all
  return (first?.files ?? [])
    .filter((file) => all.every(({ files }) => files.includes(file)))
    .map((file) => file.replace(/\.js$/, '.ts'))
    .sort()
}

/** What the process of one run found. */
interface MeasuredWalk {
  readonly numbers: WalkNumbers
  readonly files: readonly string[]
}

/** Runs a walk in a process and an empty folder of its own: the command leaves its tasks where it was started. */
async function measure(
  name: string,
  { copy, postgres }: Omit<Place, 'root' | 'help'>,
): Promise<MeasuredWalk> {
  const cwd = mkdtempSync(join(tmpdir(), 'corral-walk-'))
  try {
    const env = {
      ...process.env,
      CORRAL_WALK_COPY: copy,
      CORRAL_WALK_POSTGRES: postgres ?? '',
      CORRAL_WALK: crypto.randomUUID().replaceAll('-', ''),
    }
    const child = start(['--measure', name], { cwd, env })
    const ended = once(child, 'exit')
    const [measured] = await Promise.race([once(child, 'message'), ended])
    if (typeof measured !== 'object') throw new Error(`The walk ${name} did not come to its end`)
    await ended
    return measured as MeasuredWalk // what `measureHere` sends
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

function start(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  const child = fork(fileURLToPath(import.meta.url), args, { ...options, silent: true })
  child.stderr?.pipe(process.stderr)
  return child
}

function placeHere(): Place {
  const { CORRAL_WALK_COPY: copy = '', CORRAL_WALK_POSTGRES: postgres } = process.env
  return { copy, root, postgres: postgres || undefined, help: (name) => start(['--helper', name]) }
}

async function measureHere(name: string): Promise<void> {
  const work = await scenes[name]?.(placeHere())
  if (!work) throw new Error(`There is no walk ${name}`)
  const entered = await record(work)
  if (entered.length === 0) throw new Error(`The walk ${name} entered no instrumented function`)
  const measured: MeasuredWalk = { numbers: numbersOf(entered), files: [...new Set(entered)] }
  process.send?.(measured, () => process.exit(0))
}

async function helpHere(name: string): Promise<void> {
  process.once('disconnect', () => process.exit(0))
  process.send?.((await helpers[name]?.(placeHere())) ?? true)
}
