#!/usr/bin/env node
import { readFileSync } from 'node:fs'

// Nothing else is loaded for the version: it is what scripts ask first, and often.
const args: readonly string[] = process.argv.slice(2)
if (args[0] === '--version' || args[0] === '-V') {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  process.stdout.write(`${JSON.parse(manifest).version}\n`)
} else {
  const { run } = await import('./program.ts')
  process.exitCode = await run(args)
}
