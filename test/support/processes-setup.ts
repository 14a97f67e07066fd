/**
 * No run of the tests leaves a process behind. What a run starts has its mark: in its environment, or, where that is
 * replaced, in its arguments or in the directory that it works in. What is still there when the tests are over makes the
 * run fail, and is ended. Only Linux says what other processes have; elsewhere this looks at nothing.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { patiently } from './limits.ts'

/** How long processes that are being ended may take for it. */
const graceMs = patiently(3_000)

/** Marks what this run starts. */
export function setup(): void {
  process.env.CORRAL_TEST_RUN = `corral-run-${process.pid}-${Date.now().toString(36)}`
}

/** Fails the run where processes are left. */
export async function teardown(): Promise<void> {
  const mark = process.env.CORRAL_TEST_RUN
  if (process.platform !== 'linux' || mark === undefined) return
  const end = performance.now() + graceMs
  let left = processesWith(mark)
  for (; left.length > 0 && performance.now() < end; left = processesWith(mark)) await sleep(50)
  for (const { id, command } of left) {
    console.error(`The tests left a process behind: ${id} ${command}`)
    process.exitCode = 1
    try {
      process.kill(id, 'SIGKILL')
    } catch {
      // It has ended since.
    }
  }
}

/** A process that runs. */
export interface Process {
  readonly id: number
  readonly command: string
}

/** The processes with a mark, without this one and the workers that Vitest ends after the global teardown. */
export function processesWith(mark: string): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    const id = Number(name)
    if (!Number.isInteger(id) || id === process.pid) return []
    const command = read(id, 'cmdline').replaceAll('\0', ' ').trim()
    if (command.includes('/vitest/') && parentOf(id) === process.pid) return []
    const isMarked = [read(id, 'environ'), command, directoryOf(id)].some((text) =>
      text.includes(mark),
    )
    return isMarked ? [{ id, command: command || basename(directoryOf(id)) }] : []
  })
}

/** What the system says of a process; empty where the process is gone, or another user's. */
function read(id: number, file: string): string {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

function directoryOf(id: number): string {
  try {
    return readlinkSync(`/proc/${id}/cwd`)
  } catch {
    return ''
  }
}

function parentOf(id: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(read(id, 'status'))?.[1])
}
