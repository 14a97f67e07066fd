/** The port that pages speak of: free before a page begins, and one walk at a time on a machine. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Where `corral serve` and `corral demo` listen unless told otherwise. */
export const usualPort = 3000
/** Whoever listens here follows a page; the kernel lets go of it even where the walk is killed. */
const turnPort = usualPort + 40_000
const patienceMs = 600_000

/**
 * Waits for this walk's turn, and sees that the port is free; gives back how to let the next one go on.
 * @throws Error that names who has the port.
 */
export async function claimUsualPort(): Promise<() => Promise<void>> {
  const release = await takeTurn()
  if (!(await answers(usualPort))) return release
  await release()
  throw new Error(`Port ${usualPort} is taken by ${holderOf(usualPort)}`)
}

async function takeTurn(): Promise<() => Promise<void>> {
  for (const until = Date.now() + patienceMs; Date.now() < until; await delay(200)) {
    const server = createServer()
    const listens = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen({ port: turnPort, host: '127.0.0.1', exclusive: true }, () => resolve(true))
    })
    if (listens) return () => new Promise((resolve) => server.close(() => resolve()))
  }
  throw new Error(`Another walk has held port ${turnPort} for too long: ${holderOf(turnPort)}`)
}

/** Whether somebody on this machine answers at a port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: 'localhost' })
    const end = (answered: boolean) => () => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', end(true)).once('error', end(false))
  })
}

/** Who listens at a port, by number and command; where the system does not tell, that it does not. */
export function holderOf(port: number): string {
  const [pid] = holdersOf(port)
  return pid === undefined
    ? 'a process that this system does not name'
    : `process ${pid} (${commandOf(pid)})`
}

/** Whether a port is held by a group of processes; undefined where the system does not tell. */
export function isHeldBy(port: number, group: number): boolean | undefined {
  const holders = holdersOf(port)
  return holders.length === 0 ? undefined : holders.some((pid) => groupOf(pid) === group)
}

function holdersOf(port: number): readonly string[] {
  const sockets = socketsAt(port)
  if (sockets.size === 0) return []
  return numbersIn('/proc').filter((pid) =>
    filesIn(`/proc/${pid}/fd`).some((link) => sockets.has(readlinkOf(`/proc/${pid}/fd/${link}`))),
  )
}

/** The sockets that listen at a port, as links of a process name them. */
function socketsAt(port: number): ReadonlySet<string> {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => textOf(path).split('\n'))
  const listening = '0A'
  return new Set(
    rows
      .map((row) => row.trim().split(/\s+/))
      .filter((cells) => cells[1]?.endsWith(hex) && cells[3] === listening)
      .map((cells) => `socket:[${cells[9]}]`),
  )
}

function numbersIn(folder: string): readonly string[] {
  return filesIn(folder).filter((name) => /^\d+$/.test(name))
}

function commandOf(pid: string): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

/** The third field behind the name, which stands in brackets and may have any characters. */
function groupOf(pid: string): number {
  const stat = textOf(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
}

// A process may end, or belong to somebody else, while it is looked at.

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readlinkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
