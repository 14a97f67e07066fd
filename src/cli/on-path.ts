import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** How this command is called again: by its name where a shell finds it, else through npx. */
export function callableName(env: NodeJS.ProcessEnv = process.env): string {
  // npm puts its own folders in front, which are gone when it ends.
  if (env.npm_command !== undefined) return 'npx corral'
  const folders = (env.PATH ?? '').split(delimiter)
  const isThere = folders.some((folder) =>
    ['corral', 'corral.cmd'].some((name) => existsSync(join(folder, name))),
  )
  return isThere ? 'corral' : 'npx corral'
}
