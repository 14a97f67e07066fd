/**
 * One server of one build, in a process of its own: `subject.ts ROOT KIND [STORE]`, where ROOT is the build's folder, KIND a
 * row of `kinds` and STORE `memory`, a file or a `postgres://` URL. Only the entrances that the build's package.json names are
 * imported. It tells its port by a message and ends with its parent.
 *
 * Below `/_still/` the harness has paths of its own: `settle` answers when no turn runs, `release` then lets turns go on that
 * hold, `drain` repeats that until none does, and `hooks` is a receiver of webhooks whose deliveries `delivered` shows.
 */
// biome-ignore assist/source/organizeImports: time must stand still before a build is loaded
import { clock, controlPath, tickOn } from './still.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { HttpReply, HttpRequest, ServerOptions } from '../../src/server/index.ts'
import type { PushOptions } from '../../src/server/options.ts'
import type { Store } from '../../src/store/index.ts'
import { type Build, type Cast, createCast } from './agents.ts'

const [root = '', kind = '', place = 'memory'] = process.argv.slice(2)
const build = await loadBuild(root)
const cast = await createCast(build)
let committing = 0
const store = counted(await openStore(place))
const delivered: string[] = []
const server = await build.server.createServer(await toOptions())
const { port } = await build.server.listen(server, { port: 0, host: '127.0.0.1', logger: false })
tickOn(port)
const recovery = await server.recover()
process.on('disconnect', () => process.exit(0))
process.on('message', async () => {
  await server.close()
  await store.close()
  process.exit(0)
})
process.send?.({ port, recovery })

async function loadBuild(folder: string): Promise<Build> {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly default: string }>>
  }
  const load = (name: string): Promise<never> => {
    const file = exports[`./${name}`]?.default
    if (file === undefined) throw new Error(`${folder} has no entrance ${name}`)
    return import(pathToFileURL(join(folder, file)).href) as Promise<never> // the types of this tree stand for both
  }
  return {
    agents: await load('agents'),
    console: await load('console'),
    server: await load('server'),
    store: await load('store'),
    team: await load('team'),
    testing: await load('testing'),
  }
}

function openStore(where: string): Promise<Store> | Store {
  const { createMemoryStore, openPostgresStore, openSqliteStore } = build.store
  if (where === 'memory') return createMemoryStore({ maxTasks: 3_000 })
  if (where.startsWith('postgres:')) return openPostgresStore({ url: where })
  return openSqliteStore(where)
}

async function toOptions(): Promise<ServerOptions> {
  const kinds: Readonly<Record<string, Partial<ServerOptions>>> = {
    open: {
      console: build.console.createConsole({ store: 'still' }),
      extensions: [{ uri: 'urn:still:extension', description: 'Says nothing' }],
      extendedCard: (card) => ({ ...card, description: `${card.description} (extended)` }),
      openExtendedCard: true,
      pushNotifications: hooks(),
      prices: { fake: { input: 1, output: 2 } } as never, // the shape that files have
      timeouts: { heartbeatMs: 1e9, shutdownMs: 0 },
    },
    keyed: {
      console: build.console.createConsole(),
      auth: { authenticators: authenticators(), required: true },
      card: 'strict',
      errorTable: '1.0.0',
      pushNotifications: hooks(),
      extendedCard: (card, { userId }) => ({ ...card, description: `For ${userId}` }),
      limits: {
        maxBodyBytes: 65_536,
        maxDepth: 16,
        maxParts: 20,
        maxPushConfigs: 2,
        maxMetadataKeys: 30,
      },
      timeouts: { heartbeatMs: 1e9, shutdownMs: 0 },
      cors: { origins: ['https://page.example'] },
    },
    plain: {
      streaming: false,
      trace: false,
      enforceInputModes: true,
      extensions: [{ uri: 'urn:still:required', required: true }],
      timeouts: { heartbeatMs: 1e9, shutdownMs: 0 },
    },
    limited: {
      auth: { authenticators: authenticators(), required: false },
      rateLimit: { requests: 20, windowSeconds: 60 },
      trustedProxies: ['loopback'],
      allowedHosts: ['agents.example'],
      timeouts: { heartbeatMs: 1e9, shutdownMs: 0 },
    },
  }
  const chosen = kinds[kind]
  if (!chosen) throw new Error(`There is no server ${kind}`)
  const publicUrl = 'http://corral.test:8080'
  return { agents: cast.agents, store, clock, logger: false, routes, publicUrl, ...chosen }
}

function authenticators(): readonly ReturnType<Build['server']['apiKey']>[] {
  const { apiKey, bearer } = build.server
  const keys = {
    'key-anna': 'anna',
    'key-bert': { userId: 'bert', tenants: ['blue'] },
    'key-reader': { userId: 'anna', scopes: ['tasks:read'] },
    'key-echo': { userId: 'echo', scopes: ['tasks:read', 'tasks:write', 'agent:echo-agent'] },
    'key-boss': { userId: 'boss', scopes: ['operator', 'tasks:read', 'tasks:write', 'push'] },
  }
  return [apiKey({ keys: keys as never }), bearer({ tokens: { 'token-carl': 'carl' } })] // owners of either form
}

/** Webhooks may reach this machine, where this process has a receiver. */
function hooks(): PushOptions {
  return { guard: { allow: ['127.0.0.1'], allowHttp: true }, retry: { maxAttempts: 2 } }
}

async function routes(request: HttpRequest): Promise<HttpReply | undefined> {
  if (!request.path.startsWith(controlPath)) return undefined
  const what = request.path.slice(controlPath.length)
  if (what.startsWith('hooks')) {
    const {
      'content-type': type,
      'a2a-version': version,
      authorization,
      'x-a2a-notification-token': token,
    } = request.headers
    delivered.push(
      JSON.stringify({
        what,
        type: type ?? null,
        version,
        authorization,
        token,
        body: request.body,
      }),
    )
  }
  if (what === 'settle' || what === 'release' || what === 'drain') await settle(cast)
  if (what === 'release') cast.release()
  while (what === 'drain' && cast.release()) await settle(cast)
  if (what.startsWith('ended/')) await taskEnd(what)
  if (what === 'delivered') await sleep(150)
  const body = what === 'delivered' ? delivered.splice(0).sort(byReceiver).join('\n') : ''
  return { status: 200, headers: {}, body }
}

async function taskEnd(what: string): Promise<void> {
  const [, agent = '', id = ''] = what.split('/')
  const dispatch = server.dispatch(agent)
  for (;;) {
    const { status } = await dispatch('GetTask', { id }, {})
    if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(status.state)) return
    await sleep(20)
  }
}

/** Deliveries of one task to one receiver keep their order; others have none, and are sorted by receiver and task. */
function byReceiver(a: string, b: string): number {
  const [one, other] = [orderOf(a), orderOf(b)]
  return one < other ? -1 : one > other ? 1 : 0
}

function orderOf(line: string): string {
  const receiver = line.slice(0, line.indexOf('"type"'))
  return `${receiver} ${/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(line)?.[0] ?? ''}`
}

/** The same store, whose commits are counted while they are under way. Those of the memory store take no time. */
function counted(opened: Store): Store {
  if (place === 'memory') return opened
  const commit = opened.commit.bind(opened)
  return Object.assign(opened, {
    async commit(...args: Parameters<Store['commit']>) {
      committing++
      try {
        return await commit(...args)
      } finally {
        committing--
      }
    },
  })
}

/** How often in a row nothing may be under way before a server counts as idle. */
const quietLooks = 4

/** No turn runs but those that hold, and what they gave is committed. */
async function settle({ idle }: Cast): Promise<void> {
  await idle()
  for (let i = 0; i < 6; i++) await nextTurn()
  if (place === 'memory') return
  for (let quiet = 0; quiet < quietLooks; quiet = committing === 0 ? quiet + 1 : 0) {
    await sleep(4)
    await idle()
  }
}
