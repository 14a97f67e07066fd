/** Does what a part of a page says, and tells of each command what became of it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Command, toCommands, withPackage } from './commands.ts'
import { missingLine } from './output.ts'
import { answers, isHeldBy, usualPort } from './port.ts'
import type { Ran, Running, Shell } from './shell.ts'
import type { Commands, Part, Step } from './steps.ts'

/** What became of a command, or of a file that was saved. */
export interface Done {
  readonly line: number
  readonly command: string
  readonly outcome: 'ok' | 'fault' | 'skipped'
  readonly seconds: number
  /** Why it was skipped, or what is wrong. */
  readonly reason?: string
  /** What it printed, where something is wrong. */
  readonly output?: string
}

/** What a walk needs. */
export interface Walk {
  readonly shell: Shell
  /** The packed package, which stands for the name in `npm install`. */
  readonly tarball: () => Promise<string>
  readonly tell: (done: Done) => void
  /** The longest that a command may take, or a server until it answers. */
  readonly maxMs: number
}

const stopMs = 20_000
/** What a server that answers prints, it prints soon. */
const printMs = 10_000

/** Follows a part until its end or its first fault; servers end with it. */
export async function followPart({ steps }: Part, walk: Walk): Promise<void> {
  try {
    for (const step of steps) if (!(await doStep(step, walk))) return
  } finally {
    await walk.shell.stop(stopMs)
  }
}

/** Whether the walk may go on. */
async function doStep(step: Step, walk: Walk): Promise<boolean> {
  if (step.kind === 'stop') await walk.shell.stop(stopMs)
  else if (step.kind === 'save') save(step, walk)
  else if (step.kind === 'skip') skip(step, walk)
  else return doCommands(step, walk)
  return true
}

function save({ line, name, text }: Extract<Step, { kind: 'save' }>, { shell, tell }: Walk): void {
  const path = join(shell.folder(), name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  tell({ line, command: `save ${name}`, outcome: 'ok', seconds: 0 })
}

function skip({ line, text, reason }: Extract<Step, { kind: 'skip' }>, { tell }: Walk): void {
  for (const command of toCommands(text, line + 1))
    tell({ line: command.line, command: command.text, outcome: 'skipped', seconds: 0, reason })
}

async function doCommands(step: Commands, walk: Walk): Promise<boolean> {
  const commands = toCommands(step.text, step.line + 1)
  let printed = ''
  for (const [at, command] of commands.entries()) {
    const isLast = at === commands.length - 1
    const began = Date.now()
    const kind = isLast ? step.kind : 'run'
    const { output, reason } = await doCommand({ command, kind, printed }, step, walk)
    printed += output
    const missing = isLast && !reason ? missingLine(printed, step.expected) : undefined
    const wrong = reason ?? (missing === undefined ? undefined : `did not print: ${missing}`)
    const done = { line: command.line, command: command.text, seconds: (Date.now() - began) / 1000 }
    walk.tell(
      wrong === undefined
        ? { ...done, outcome: 'ok' }
        : { ...done, outcome: 'fault', reason: wrong, output: printed },
    )
    if (wrong !== undefined) return false
  }
  return true
}

/** A command in its block. */
interface Doing {
  readonly command: Command
  readonly kind: Commands['kind']
  /** What the block has printed before it. */
  readonly printed: string
}

async function doCommand(
  { command, kind, printed }: Doing,
  step: Commands,
  { shell, tarball, maxMs }: Walk,
): Promise<{ readonly output: string; readonly reason?: string }> {
  const text = /\bnpm\b/.test(command.text)
    ? withPackage(command.text, await tarball())
    : command.text
  if (kind === 'background') {
    const server = shell.start(text)
    const missing = () => missingLine(printed + server.output, step.expected)
    const reason = await whyNotReady(server, { missing, maxMs })
    return { output: server.output, ...(reason && { reason }) }
  }
  const ran = await shell.run(text, maxMs)
  const reason = whyWrong(ran, kind, maxMs)
  return { output: ran.output, ...(reason && { reason }) }
}

function whyWrong({ status }: Ran, kind: Commands['kind'], maxMs: number): string | undefined {
  if (status === null)
    return `did not end within ${maxMs / 1000} s; a server's block has <!-- follow: background --> above it`
  if (kind === 'fails') return status === 0 ? 'ended with 0, though it is to fail' : undefined
  return status === 0 ? undefined : `ended with ${status}`
}

/** What a server is waited for. */
interface Awaited {
  /** The first line of the page's that it has not printed. */
  readonly missing: () => string | undefined
  readonly maxMs: number
}

const local = /[a-z]+:\/\/(?:[^\s@/]+@)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d+)/

/** Waits until a server answers where it says or at the usual port, and has printed what the page shows. */
async function whyNotReady(
  server: Running,
  { missing, maxMs }: Awaited,
): Promise<string | undefined> {
  let until = Date.now() + maxMs
  let answered = false
  for (; Date.now() < until; await delay(50)) {
    if (server.hasEnded) return `ended with ${(await server.ended).status}, though it is to go on`
    if (answered && missing() === undefined) return undefined
    if (answered || !(await isThere(server))) continue
    answered = true
    until = Math.min(until, Date.now() + printMs)
  }
  return answered ? `did not print: ${missing()}` : `did not answer within ${maxMs / 1000} s`
}

/** Somebody else may take the usual port while a server is still being built. */
async function isThere({ output, group }: Running): Promise<boolean> {
  const [, port] = local.exec(output) ?? []
  if (port) return answers(Number(port))
  return (await answers(usualPort)) && isHeldBy(usualPort, group) !== false
}
