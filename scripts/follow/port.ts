/** The port that pages speak of: free before a page begins, and one walk at a time on a machine. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Where `corral serve` and `corral demo` listen unless told otherwise. */
export const usualPort = 3000
/** Whoever listens here follows a page; the kernel lets go of it even where the walk is killed. */
const turnPort = usualPort + 40_000
const patienceMs = 600_000

/** Waits for this walk's turn; gives back how to let the next one go on. */
export async function takeTurn(): Promise<() => Promise<void>> {
  const server = createServer()
  for (const until = Date.now() + patienceMs; Date.now() < until; await delay(200)) {
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
  const sockets = socketsAt(port)
  for (const pid of numbersIn('/proc')) {
    const links = filesIn(`/proc/${pid}/fd`)
    const target = links.find((link) => sockets.has(readlinkOf(`/proc/${pid}/fd/${link}`)))
    if (target) return `process ${pid} (${commandOf(pid)})`
  }
  return 'a process that this system does not name'
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
