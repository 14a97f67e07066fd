import { createDeferred, type Deferred } from '../../../src/shared/async.ts'

/** Where a kill is of interest. */
export const points = [
  'step',
  'between steps',
  'input',
  'stream',
  'cancel',
  'webhook',
  'birth',
] as const

/** Where the work of a replica is when it is struck. */
export type Point = (typeof points)[number]

/** Waits for replicas to be where they are to be struck. */
export interface Moments {
  /** A replica is there now; nobody where it is not known which. */
  reached(point: Point, replica: number | undefined): void
  /** The next replica that is there. Only one is waited for at a time. */
  next(point: Point): Promise<number>
}

/** Makes a watch for moments. */
export function createMoments(): Moments {
  let wanted: { readonly point: Point; readonly found: Deferred<number> } | undefined
  return {
    reached(point, replica) {
      if (wanted?.point !== point || replica === undefined) return
      wanted.found.resolve(replica)
      wanted = undefined
    },
    next(point) {
      wanted = { point, found: createDeferred<number>() }
      return wanted.found.promise
    },
  }
}
