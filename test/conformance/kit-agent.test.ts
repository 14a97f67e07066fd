import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import type { Wild } from '../contracts/binding.ts'

const script = join(import.meta.dirname, '../../scripts/tck-agent.ts')

/** Starts the agent that the official kit talks to; gives its URL. */
async function start(...options: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, '--port', '0', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  return String(line).replace(/^.* at /, '')
}

test.each(['strict', 'superset'])(
  'the kit’s agent shows the bindings of the specification alone, card %s',
  async (shape) => {
    const url = await start('--card', shape)
    const card: Wild = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    const offers = card.supportedInterfaces.map(
      (one: Wild) => `${one.protocolBinding} ${one.protocolVersion}`,
    )
    expect(offers).toEqual(['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3'])
  },
)
