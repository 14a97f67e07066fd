import { existsSync, type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { readModuleFiles } from '../agents/module-files.ts'
import { createFreshModules } from '../agents/module-state.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Config } from './config/file.ts'
import { loadConfig } from './config/load.ts'
import type { ConfigVariables } from './config/values.ts'
import { type BuildDeps, createRoster, type Roster } from './roster.ts'
import { guardModulesOf } from './team-guards.ts'

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
  const files = config.agents.flatMap(({ protocol, endpoint, tools = [] }) => [
    ...(protocol === 'module' ? [endpoint] : []),
    ...tools.map(({ module }) => module),
  ])
  const all = new Set([...files, ...guardModulesOf(config)])
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
