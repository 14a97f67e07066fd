import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const clerk = fileURLToPath(new URL('../fixtures/cli/clerk.mjs', import.meta.url))

/** A clerk as an agent of a file. */
export const clerkAgent = (id = 'clerk', name = 'Clerk') => `
[[agents]]
id = "${id}"
name = "${name}"
endpoint = "./clerk.mjs"
protocol = "module"
`

/** A file with one clerk, or with the given text, and the clerk's module beside it. */
export function writeFile(directory: string, text: string = clerkAgent()): string {
  mkdirSync(directory, { recursive: true })
  copyFileSync(clerk, join(directory, 'clerk.mjs'))
  const path = join(directory, 'corral.toml')
  writeFileSync(path, text)
  return path
}
