import { execFile } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withTemporary } from '../temporary.ts'

/** How large each thing may be, in bytes; a megabyte is a million, as npm counts. */
export const limits = {
  /** What is downloaded of us. */
  packed: 1_500_000,
  /** What it is unpacked. */
  unpacked: 5_000_000,
  /** All that `npm install` puts into an empty project. */
  installed: 42_000_000,
  /** The client in a web page, compressed. */
  browser: 50_000,
  /** One picture of the documents. */
  picture: 120_000,
} as const

/** The bytes of all files that installing a tarball into an empty project leaves, without development dependencies. */
export function installedBytes(tarball: string): Promise<number> {
  return withTemporary('installed', async (project) => {
    writeFileSync(join(project, 'package.json'), '{"private":true}')
    const quiet = ['--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    await promisify(execFile)('npm', ['install', ...quiet, tarball], { cwd: project })
    return bytesIn(join(project, 'node_modules'))
  })
}

/** The bytes of all files in a folder and those below it. */
export function bytesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
