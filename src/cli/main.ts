#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'

// Nothing else is loaded for the version: it is what scripts ask first, and often.
const args: readonly string[] = process.argv.slice(2)
if (args[0] === '--version' || args[0] === '-V') {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  process.stdout.write(`${JSON.parse(manifest).version}\n`)
} else {
  // What is alive at the first collection of a load V8 takes for long-lived: from then on it would make chunks of streams,
  // which soon go, in the old generation, and streams would need a tenth more.
  setFlagsFromString('--no-allocation-site-pretenuring')
  const { run } = await import('./program.ts')
  process.exitCode = await run(args)
}
