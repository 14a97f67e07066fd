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
  const modules = new ModuleStates()
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

/** All modules are loaded anew when one file has changed, so that those that share a module go on sharing it. */
class ModuleStates {
  readonly #fresh = createFreshModules()
  readonly #known = new Map<string, string>()
  #state: string | undefined

  /** Another state when a known file has changed; undefined as long as none has. */
  stateOf(files: ReadonlyMap<string, string>): string | undefined {
    const known = this.#known
    const hasChanged = [...files].some(([file, stamp]) => (known.get(file) ?? stamp) !== stamp)
    for (const [file, stamp] of files) known.set(file, stamp)
    if (!hasChanged) return this.#state
    this.#fresh.renew(known.keys())
    this.#state = newId()
    return this.#state
  }

  close(): void {
    this.#fresh.close()
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
export class Generation {
  readonly #roster: Roster
  readonly #log: Logger
  readonly #agents = new Map<string, Agent>()
  #running = 0
  #next: Generation | undefined
  #closing: Promise<void> | undefined

  /** It closes the roster. */
  constructor(roster: Roster, log: Logger) {
    this.#roster = roster
    this.#log = log
    const { manager } = roster
    const ids = new Map(manager.listIds().map((id) => [manager.get(id), id]))
    for (const agent of roster.agents) {
      const id = ids.get(agent) ?? ''
      this.#agents.set(id, this.#hold(agent, id))
    }
  }

  get agents(): readonly Agent[] {
    return [...this.#agents.values()]
  }

  get ids(): readonly string[] {
    return [...this.#agents.keys()]
  }

  get(id: string): Agent | undefined {
    return this.#agents.get(id)
  }

  /** Whether an agent can answer now. */
  health(id: string): Promise<Health> {
    return this.#roster.manager.health(id)
  }

  /** Gives way to the next reading; turns that have not begun go to it once these agents are closed. */
  retire(next: Generation): void {
    this.#next = next
    this.#closeIfOver()
  }

  /** Closes the agents at once. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#roster.close()
    return this.#closing
  }

  #closeIfOver(): void {
    if (this.#running > 0 || !this.#next) return
    this.close().catch((err: unknown) => this.#log.warn({ err }, 'Replaced agents did not close'))
  }

  #hold(agent: Agent, id: string): Agent {
    const { prices } = this.#roster
    return wrapAgent(prices ? withPrices(agent, prices) : agent, {
      process: (ask, message, turn) => {
        if (this.#closing) return this.#heirOf(id).process(message, turn)
        this.#running++
        return whenOver(
          () => ask(turn),
          () => {
            this.#running--
            this.#closeIfOver()
          },
        )
      },
      // The roster closes its agents, and what went past `process` would not be counted among what runs.
      close: undefined,
      dispatch: undefined,
    })
  }

  #heirOf(id: string): Agent {
    const heir = this.#next?.get(id)
    if (!heir) throw new A2AError('agentUnavailable', `${id} is no longer served`)
    return heir
  }
}
