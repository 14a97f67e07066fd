import { readdirSync, readlinkSync } from 'node:fs'
import { queryObjects } from 'node:v8'

/**
 * What a process holds once its garbage is collected: bytes on the heap, handles of each kind and of the operating
 * system, listeners of the process, and how many things there are that listen or are listened to. Needs `--expose-gc`.
 */
export function takeVitals() {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const handles = {}
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1
  return {
    heapBytes: process.memoryUsage().heapUsed,
    handles,
    files: countFiles(),
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    signals: queryObjects(AbortSignal),
  }
}

/** Open files and sockets by their kind or name, where the system shows them. */
function countFiles() {
  const counts = {}
  for (const name of listed('/proc/self/fd')) {
    const kind = targetOf(`/proc/self/fd/${name}`).replace(/\[\d+\]$/, '')
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

function listed(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The handle that lists the folder is gone by the time it is looked at. */
function targetOf(path) {
  try {
    return readlinkSync(path)
  } catch {
    return 'gone'
  }
}
