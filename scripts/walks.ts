/**
 * Counts the source files that a reader crosses on four walks: a message, a team run, an evaluation, `corral serve FILE`.
 *
 *   npm run walks [-- [message] [team] [evaluation] [serve] [--files]]
 *
 * Each walk runs in a process of its own over the compiled package. V8 counts calls from the moment when everything is
 * loaded and listens (of `serve`: is loaded) until the walk is over. A file is crossed when one of its functions has run;
 * the body of a module, and what it calls when it is loaded, is not counted. The agent under test of the
 * evaluation is a process of its own as well: its side is the walk of a message.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Gets ready, and gives what is to be measured. */
type Walk = () => Promise<() => Promise<unknown>>

const walks: Readonly<Record<string, Walk>> = {
  message: async () => {
    const url = await serve(await createAgent('Echo'))
    return () => send(url)
  },
  team: async () => {
    const { defineTeam } = await dist<typeof import('../src/team/index.ts')>('team')
    const agents = { writer: await createAgent('Writer'), editor: await createAgent('Editor') }
    const steps = [{ agentId: 'writer' }, { agentId: 'editor' }] as const
    const url = await serve(
      defineTeam({ id: 'team', name: 'Team', agents, scheduler: { type: 'workflow', steps } }),
    )
    return () => send(url)
  },
  evaluation: async () => {
    const { kestrel, runEvaluation } = await dist<typeof import('../src/eval/index.ts')>('eval')
    const endpoint = String(await hear(start('--golden')))
    return () => runEvaluation({ agent: { endpoint }, domain: kestrel, numTasks: 1 })
  },
  serve: async () => {
    const main = new URL('../dist/cli/main.js', import.meta.url)
    await loadAll()
    const team = fileURLToPath(new URL('../examples/fantasy/corral.toml', import.meta.url))
    process.argv = [process.execPath, fileURLToPath(main), 'serve', team, '--port', '0']
    const listening = firstWords('http://')
    return () => {
      void import(main.href)
      return listening
    }
  },
}

const { values: flags, positionals } = parseArgs({
  options: {
    files: { type: 'boolean', default: false },
    measure: { type: 'string' },
    golden: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

if (flags.measure) await measureHere(flags.measure)
else if (flags.golden) await serveGolden()
else
  for (const name of positionals.length > 0 ? positionals : Object.keys(walks)) {
    const files = await hear(start('--measure', name))
    if (!Array.isArray(files)) throw new Error(`The walk ${name} did not come to its end`)
    console.log(`${name}: ${files.length} files`)
    if (flags.files) for (const file of files) console.log(`  ${file}`)
  }

/** Starts this script once more, in an empty folder: the command leaves its tasks where it was started. */
function start(...args: readonly string[]): ChildProcess {
  const cwd = mkdtempSync(join(tmpdir(), 'corral-walk-'))
  process.once('exit', () => rmSync(cwd, { recursive: true, force: true }))
  const child = fork(fileURLToPath(import.meta.url), args, { cwd, silent: true })
  child.stderr?.pipe(process.stderr)
  return child
}

/** The first message of a process; its exit code if it ends without one. */
async function hear(child: ChildProcess): Promise<unknown> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  return message
}

/** The agent under test, until whoever evaluates it is gone. */
async function serveGolden(): Promise<void> {
  const { kestrel, createGoldenAgent } = await dist<typeof import('../src/eval/index.ts')>('eval')
  process.once('disconnect', () => process.exit(0))
  process.send?.(await serve(createGoldenAgent(kestrel)))
}

async function measureHere(name: string): Promise<void> {
  const walk = walks[name]
  if (!walk) throw new Error(`There is no walk ${name}; there are ${Object.keys(walks).join(', ')}`)
  const files = await crossedBy(await walk())
  process.send?.(files, () => process.exit(0))
}

/** The files of `src` in which a function runs meanwhile. */
async function crossedBy(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const root = new URL('../dist/', import.meta.url).href
  return result
    .filter(({ url, functions }) => url.startsWith(root) && functions.some(hasRun))
    .map(({ url }) => url.slice(root.length).replace(/\.js$/, '.ts'))
    .sort()
}

/** Whether a function other than a module's body was called. */
function hasRun({ functionName, ranges: [whole] }: FunctionCoverage): boolean {
  const isBody = functionName === '' && whole?.startOffset === 0
  return !isBody && (whole?.count ?? 0) > 0
}

interface FunctionCoverage {
  readonly functionName: string
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
}

/** Loads every module that a command may use. */
async function loadAll(): Promise<void> {
  const folders = ['agents', 'client', 'server', 'store', 'team', 'eval']
  await Promise.all(folders.map((folder) => dist(folder)))
  await import(new URL('../dist/cli/program.js', import.meta.url).href)
}

/** A public entry point of the compiled package. */
function dist<T>(name: string): Promise<T> {
  return import(new URL(`../dist/${name}/index.js`, import.meta.url).href)
}

async function createAgent(name: string): Promise<Agent> {
  const { defineAgent } = await dist<typeof import('../src/agents/index.ts')>('agents')
  return defineAgent({ name }, () => `${name} is done`)
}

type Agent = import('../src/agents/index.ts').Agent

/** Serves an agent on a free port with the store in memory; gives its URL. */
async function serve(agent: Agent): Promise<string> {
  const { createServer, listen } = await dist<typeof import('../src/server/index.ts')>('server')
  const server = await createServer({ agents: [agent] })
  const { url } = await listen(server, { port: 0, host: '127.0.0.1' })
  return url
}

/** Sends one message as any JSON-RPC client does, and expects a completed task. */
async function send(url: string): Promise<void> {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify(call),
  })
  const text = await response.text()
  if (!text.includes('TASK_STATE_COMPLETED')) throw new Error(`An answer to wonder at: ${text}`)
}

/** Resolves when the process has written these words. */
function firstWords(words: string): Promise<void> {
  return new Promise((resolve) => {
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = (chunk: string | Uint8Array) => {
      if (String(chunk).includes(words)) resolve()
      return write(chunk)
    }
  })
}
