import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Config } from './config/file.ts'
import { loadConfig } from './config/load.ts'
import type { ConfigVariables } from './config/values.ts'
import { type BuildDeps, createRoster, type Roster } from './roster.ts'

/** What happens when a configuration changes. */
export interface ConfigWatchOptions {
  readonly env: ConfigVariables
  readonly deps: BuildDeps
  /**
   * Takes the agents of the changed file. Whoever takes them closes those before, once the tasks that run with them have
   * ended: a run keeps the team it began with.
   */
  onRoster(roster: Roster, config: Config): void | Promise<void>
  /** The changed file cannot be used; everything stays as it is. */
  onError(error: unknown): void
  readonly clock?: Clock
}

/** Editors write a file in several steps: this long after the last one it is read. */
const settleMs = 100

/**
 * Watches a configuration and the modules it names, and makes the agents anew when one of them changes. The returned
 * function ends it. Directories are watched, not files, since editors put another file in the old one's place.
 */
export function watchConfig(
  path: string,
  current: Config,
  options: ConfigWatchOptions,
): () => void {
  const { clock = systemClock } = options
  let watchers: readonly FSWatcher[] = []
  let cancelTimer: (() => void) | undefined
  let reloading: Promise<void> = Promise.resolve()
  let ended = false

  const follow = (config: Config): void => {
    for (const watcher of watchers) watcher.close()
    watchers = watchAll(filesOf(path, config), changed)
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
      const roster = await createRoster(config, options.deps)
      if (ended) return await roster.close()
      follow(config)
      await options.onRoster(roster, config)
    } catch (error) {
      options.onError(error)
    }
  }

  follow(current)
  return () => {
    ended = true
    cancelTimer?.()
    for (const watcher of watchers) watcher.close()
  }
}

function filesOf(path: string, config: Config): readonly string[] {
  const modules = config.agents.filter(({ protocol }) => protocol === 'module')
  return [resolve(path), ...modules.map(({ endpoint }) => resolve(dirname(path), endpoint))]
}

/** One watcher per directory; a change of a file that is none of ours is left alone. */
function watchAll(files: readonly string[], changed: () => void): readonly FSWatcher[] {
  return [...byDirectory(files)].map(([directory, names]) => {
    const wanted = new Set(names.map((name) => basename(name)))
    return watch(directory, { persistent: false }, (_event, name) => {
      if (name === null || wanted.has(name)) changed()
    })
  })
}

function byDirectory(files: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const file of files) {
    const directory = dirname(file)
    groups.set(directory, [...(groups.get(directory) ?? []), file])
  }
  return groups
}
