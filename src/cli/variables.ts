import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import type { Environment } from '../team/index.ts'

/** What an option that names a file of variables says of itself. */
export const variablesHelp = 'take further variables from a file such as .env, where it is there'

/** The variables that a configuration may name: the process's own, then those of a file, if there is one. */
export async function readVariables(path: string | undefined): Promise<Environment> {
  if (path === undefined) return process.env
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return { ...parseEnv(text), ...process.env }
}
