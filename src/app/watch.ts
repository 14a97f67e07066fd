import { existsSync, type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Agent, Health } from '../agents/agent.ts'
import { moduleFilesOf } from '../agents/create.ts'
import { createFreshModules, readModuleFiles } from '../agents/module.ts'
import { withPrices } from '../agents/prices.ts'
import { whenOver, wrapAgent } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import type { Config } from './config/file.ts'
import { loadConfig } from './config/load.ts'
import type { ConfigVariables } from './config/values.ts'
import { type BuildDeps, createRoster, guardModulesOf, type Roster } from './roster.ts'

/** What happens when a configuration changes. */
export interface ConfigWatchOptions {
  /** Variables that the configuration may name. */
  readonly env: ConfigVariables
  /** What the new agents and teams get from around them. */
  readonly deps: BuildDeps
  /**
   * Takes the agents of the changed file. Close those before once the tasks that run with them have ended: a run keeps
   * the team it began with.
   */
  onRoster(roster: Roster, config: Config): void | Promise<void>
  /** Told why the changed file cannot be used; everything stays as it is. */
  onError(error: unknown): void
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** Editors write a file in several steps: this long after the last one it is read. */
const settleMs = 100

/**
 * Watches a configuration, the schemas and modules it names and what they import, and makes the agents anew when one
 * of them changes. The returned function ends it.
 */
export function watchConfig(
  path: string,
  current: Config,
  options: ConfigWatchOptions,
): () => void {
  const { clock = systemClock } = options
  const modules = createModuleStates()
  let watchers: readonly FSWatcher[] = []
  let cancelTimer: (() => void) | undefined
  let reloading: Promise<void> = Promise.resolve()
  let ended = false

  const follow = (config: Config): string | undefined => {
    const files = readModuleFiles(modulesOf(path, config))
    for (const watcher of watchers) watcher.close()
    watchers = watchAll([resolve(path), ...(config.files ?? []), ...files.keys()], changed)
    return modules.stateOf(files)
  }
  const changed = (): void => {
    cancelTimer?.()
    cancelTimer = clock.after(settleMs, () => {
      reloading = reloading.then(reload)
    })
  }
  async function reload(): Promise<void> {
    if (ended) return
    try {
      const config = await loadConfig(path, options.env)
      if (ended) return
      // Before modules are loaded, and whether they can be or not: what changes from here on is another change.
      const moduleState = follow(config)
      const deps = { ...options.deps, ...(moduleState !== undefined && { moduleState }) }
      const roster = await createRoster(config, deps)
      if (ended) return await roster.close()
      await options.onRoster(roster, config)
    } catch (error) {
      options.onError(error)
    }
  }

  follow(current)
  return () => {
    ended = true
    cancelTimer?.()
    modules.close()
    for (const watcher of watchers) watcher.close()
  }
}

/** In which state modules are to be loaded. */
interface ModuleStates {
  /** Another state when a known file has changed; undefined as long as none has. */
  stateOf(files: ReadonlyMap<string, string>): string | undefined
  close(): void
}

/** All modules are loaded anew when one file has changed, so that those that share a module go on sharing it. */
function createModuleStates(): ModuleStates {
  const fresh = createFreshModules()
  const known = new Map<string, string>()
  let state: string | undefined
  return {
    stateOf(files) {
      const isChanged = ([file, stamp]: readonly [string, string]): boolean =>
        known.has(file) && known.get(file) !== stamp
      const hasChanged = [...files].some(isChanged)
      for (const [file, stamp] of files) known.set(file, stamp)
      if (!hasChanged) return state
      fresh.renew(known.keys())
      state = newId()
      return state
    },
    close: () => fresh.close(),
  }
}

function modulesOf(path: string, config: Config): readonly string[] {
  const { agents, teams } = config
  const all = new Set([...agents.flatMap(moduleFilesOf), ...teams.flatMap(guardModulesOf)])
  return [...all].map((file) => resolve(dirname(path), file))
}

/** One watcher per directory; a change of a file that is none of ours is left alone. */
function watchAll(files: readonly string[], changed: () => void): readonly FSWatcher[] {
  return [...byDirectory(files)].map(([directory, wanted]) => {
    const watcher = watch(directory, { persistent: false }, (_event, name) => {
      if (name === null || wanted.has(name)) changed()
    })
    return watcher.on('error', changed) // the directory is gone, and with it files of ours
  })
}

/** The names to look for in each directory; of a file whose directory is not there, the directory that may come. */
function byDirectory(files: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>()
  for (const file of files) {
    let missing = file
    while (!existsSync(dirname(missing))) missing = dirname(missing)
    const names = groups.get(dirname(missing)) ?? new Set()
    groups.set(dirname(missing), names.add(basename(missing)))
  }
  return groups
}

/**
 * The agents of one reading of a file. A later reading takes their place; turns that run keep the agents they began
 * with, and when the last of them has ended the agents are closed.
 */
export interface Generation {
  readonly agents: readonly Agent[]
  readonly ids: readonly string[]
  get(id: string): Agent | undefined
  /** Whether an agent can answer now. */
  health(id: string): Promise<Health>
  /** Gives way to the next reading; turns that have not begun go to it once these agents are closed. */
  retire(next: Generation): void
  /** Closes the agents at once. May be called twice. */
  close(): Promise<void>
}

/** Makes the generation of a roster, which it closes. */
export function createGeneration(roster: Roster, log: Logger): Generation {
  const served = new Map<Agent, string>()
  for (const id of roster.manager.listIds()) {
    const agent = roster.manager.get(id)
    if (agent) served.set(agent, id)
  }
  let running = 0
  let next: Generation | undefined
  let closing: Promise<void> | undefined

  function close(): Promise<void> {
    closing ??= roster.close()
    return closing
  }

  function closeIfOver(): void {
    if (running > 0 || !next) return
    close().catch((err: unknown) => log.warn({ err }, 'Replaced agents did not close'))
  }

  function hold(agent: Agent): Agent {
    const id = served.get(agent) ?? ''
    const priced = roster.prices ? withPrices(agent, roster.prices) : agent
    return wrapAgent(priced, {
      process(ask, message, turn) {
        if (closing) return heirOf(id).process(message, turn)
        running++
        return whenOver(
          () => ask(turn),
          () => {
            running--
            closeIfOver()
          },
        )
      },
      // The roster closes its agents, and what went past `process` would not be counted among what runs.
      close: undefined,
      dispatch: undefined,
    })
  }

  function heirOf(id: string): Agent {
    const heir = next?.get(id)
    if (!heir) throw new A2AError('agentUnavailable', `${id} is no longer served`)
    return heir
  }

  const agents = new Map(roster.agents.map((agent) => [served.get(agent) ?? '', hold(agent)]))
  return {
    agents: [...agents.values()],
    ids: [...agents.keys()],
    health: (id) => roster.manager.health(id),
    get: (id) => agents.get(id),
    retire(later) {
      next = later
      closeIfOver()
    },
    close,
  }
}
