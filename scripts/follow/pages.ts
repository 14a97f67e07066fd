/** Follows whole pages, part by part, each in a place of its own. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Places } from './places.ts'
import type { Followed } from './report.ts'
import { openShell, type Shell } from './shell.ts'
import { MarkError, type Part, type Place, toParts } from './steps.ts'
import { type Done, followPart } from './walk.ts'

/** A page to follow. */
export interface Page {
  readonly name: string
  readonly text: string
  /** Where it begins. */
  readonly place: Place
}

/** How pages are followed. */
export interface FollowOptions {
  readonly places: Places
  /** Everything that pages make is below it. */
  readonly folder: string
  readonly maxMs: number
  /** Waits until servers may be started; gives back how to say that they have ended. */
  readonly claimPort: () => Promise<() => Promise<void>>
  /** Hears of a part that begins. */
  readonly begin: (page: string, place: Place) => void
  /** Hears of each command. */
  readonly tell: (done: Done) => void
}

/** What follows pages, one after another. */
export interface Follower {
  follow(page: Page): Promise<readonly Followed[]>
  /** Kills what the page under way has started. */
  kill(): void
}

/** Makes a follower. */
export function createFollower(options: FollowOptions): Follower {
  let shell: Shell | undefined
  let count = 0

  const followOne = async (part: Part): Promise<readonly Done[]> => {
    const folder = join(options.folder, String(++count))
    const home = join(folder, 'home')
    mkdirSync(home, { recursive: true })
    const done: Done[] = []
    const tell = (one: Done): void => {
      done.push(one)
      options.tell(one)
    }
    try {
      await options.places.make(part.place, join(folder, 'work'))
      shell = openShell({
        folder: join(folder, 'work'),
        stateFolder: join(folder, 'state'),
        env: await options.places.environment(home),
      })
      const { tarball } = options.places
      await followPart(part, { shell, tarball, tell, maxMs: options.maxMs })
    } catch (error) {
      tell(toFault(error))
    }
    return done
  }

  /** Servers of two walks would meet at their port. */
  const withPort = async (part: Part): Promise<readonly Done[]> => {
    if (!part.steps.some(({ kind }) => kind === 'background')) return followOne(part)
    const release = await options.claimPort()
    try {
      return await followOne(part)
    } finally {
      await release()
    }
  }

  const follow = async ({ name, text, place }: Page): Promise<readonly Followed[]> => {
    const followed: Followed[] = []
    for (const part of toParts(text, place)) {
      options.begin(name, part.place)
      followed.push({ page: name, place: part.place, done: await withPort(part) })
    }
    return followed
  }

  return {
    follow: (page) =>
      follow(page).catch((error: unknown) => {
        const fault = toFault(error)
        options.begin(page.name, page.place)
        options.tell(fault)
        return [{ page: page.name, place: page.place, done: [fault] }]
      }),
    kill: () => shell?.kill(),
  }
}

function toFault(error: unknown): Done {
  const line = error instanceof MarkError ? error.line : 1
  const reason = error instanceof Error ? error.message : String(error)
  return { line, command: 'before its first command', outcome: 'fault', seconds: 0, reason }
}
