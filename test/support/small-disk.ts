import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'

/** A file system of its own, of few bytes. */
export interface SmallDisk {
  readonly folder: string
  /** Takes all the room that is left. */
  fill(): void
  /** Gives it back. */
  free(): void
  remove(): void
}

/** Mounts a file system of so many bytes; for root alone. */
export function mountSmall(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'corral-small-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'pipe' })
  chmodSync(folder, 0o777)
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill() {
      for (let piece = 1024 * 1024; piece >= 1; piece >>= 1)
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(piece), { flag: 'a' })
        } catch {
          // No room for a piece of this size: a smaller one.
        }
    },
    free: () => truncateSync(ballast),
    remove() {
      // What is still open goes with its process.
      execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' })
      rmSync(folder, { recursive: true })
    },
  }
}

/** Shows a folder at another path, at which nothing can be written. */
export function mountReadOnly(folder: string): { readonly folder: string; remove(): void } {
  const shown = mkdtempSync(join(tmpdir(), 'corral-read-only-'))
  execFileSync('mount', ['--bind', folder, shown], { stdio: 'pipe' })
  execFileSync('mount', ['-o', 'remount,bind,ro', shown], { stdio: 'pipe' })
  return {
    folder: shown,
    remove() {
      execFileSync('umount', ['--lazy', shown], { stdio: 'pipe' })
      rmSync(shown, { recursive: true })
    },
  }
}

const canMount = tryToMount()

if (!canMount)
  console.warn(
    'Nothing can be mounted here: the tests of full disks and read-only mounts are skipped.',
  )

/** Tests that mount something; skipped, and said so, where that is not possible. */
export const describeMounts: typeof describe.skip = describe.skipIf(!canMount)

function tryToMount(): boolean {
  try {
    mountSmall(4096).remove()
    return true
  } catch {
    return false
  }
}
