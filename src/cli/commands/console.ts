import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { A2AAgent } from '../../agents/index.ts'
import { A2AClient } from '../../client/index.ts'
import { createConsole } from '../../console/index.ts'
import { createServer, runServer, type StartedServer } from '../../server/index.ts'
import { readUrl } from '../../shared/text.ts'
import { addCommand, exits } from '../command.ts'
import { CliError, exitCodeOf } from '../errors.ts'
import { createLogger, stdout } from '../screen.ts'

/** Adds `corral console`. */
export function addConsoleCommand(program: Command): void {
  addCommand(program, {
    usage: 'console <url>',
    description:
      'show where the console of a server is; for an agent without one, serve a console on this machine',
    examples: [
      'corral console http://localhost:3000',
      'corral console https://agent.example --open',
    ],
  })
    .option('--open', 'open it in the browser')
    .action(exits(consoleCommand))
}

interface ConsoleFlags {
  readonly open?: boolean
  readonly json?: boolean
  readonly debug?: boolean
}

async function consoleCommand(given: string, flags: ConsoleFlags): Promise<number> {
  const url = toUrl(given)
  const found = await findConsole(url)
  if (found) {
    tell(found, flags)
    return 0
  }
  await mustAnswer(url)
  const started = await serveConsole(url, flags)
  tell(`${started.url}/console/#/agents/${encodeURIComponent(url)}`, flags)
  await started.stopped
  // The browser may still hold connections.
  process.exit(0)
}

function toUrl(given: string): string {
  const url = readUrl(given)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
  throw new CliError(`An agent's URL starts with http:// or https://, not "${given}"`)
}

const patienceMs = 10_000

/** The console's page, where the server at a URL has one. */
async function findConsole(url: string): Promise<string | undefined> {
  const page = new URL('/console/', url).href
  const signal = AbortSignal.timeout(patienceMs)
  const headers = { accept: 'text/html' }
  const reply = await fetch(page, { headers, signal, redirect: 'manual' }).catch(() => undefined)
  await reply?.body?.cancel()
  const isPage = reply?.headers.get('content-type')?.startsWith('text/html')
  return reply?.status === 200 && isPage ? page : undefined
}

/** An agent that wants credentials is there: the page asks for them. */
async function mustAnswer(url: string): Promise<void> {
  const client = new A2AClient(url)
  try {
    await client.fetchAgentCard({ signal: AbortSignal.timeout(patienceMs) })
  } catch (error) {
    if (exitCodeOf(error) === 2) throw error
  } finally {
    await client.close()
  }
}

function tell(page: string, { open, json }: ConsoleFlags): void {
  stdout.write(json ? `${JSON.stringify({ url: page })}\n` : `${page}\n`)
  if (open) openPage(page)
}

/** How each system opens a page; what cannot be opened is still printed. */
function openPage(page: string): void {
  const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
    darwin: ['open'],
    win32: ['explorer.exe'],
  }
  const [command, ...args] = commands[process.platform] ?? ['xdg-open']
  const { BROWSER: browser } = process.env
  const child = spawn(browser || command, [...args, page], { stdio: 'ignore', detached: true })
  child.on('error', () => stdout.write('No browser could be opened; open the page yourself\n'))
  child.unref()
}

/** A console on a free port of this machine that knows one agent, until a signal ends it. */
async function serveConsole(url: string, { debug = false }: ConsoleFlags): Promise<StartedServer> {
  const logger = createLogger({ level: 'warn', debug })
  const server = await createServer({
    agents: [new A2AAgent({ endpoint: url, id: 'agent' })],
    console: createConsole({ store: 'memory' }),
    logger,
  })
  return runServer(server, { port: 0, host: '127.0.0.1', logger, signals: true })
}
