import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCalls } from '../../../src/eval/domain/check.ts'
import { toJson } from '../../../src/eval/tau2/bridge.ts'
import { parseJson } from '../../../src/eval/tau2/python/json.ts'
import type { Tau2Domain } from './vectors.ts'

/** Calls that tau2's own Python answered: right ones, wrong ones and absurd ones, in this order in one world. */
interface Sequence {
  readonly task: string | null
  readonly calls: readonly (Parameters<typeof runCalls>[1][number] & {
    readonly content: string
    readonly error: boolean
  })[]
  readonly hash: readonly [string, string | null]
}

/** Does the sequences of a domain again; gives the answers and hashes that differ. */
export async function compareSequences(
  domain: Tau2Domain,
  name: string,
): Promise<readonly string[]> {
  const differences: string[] = []
  for (const { task, calls, hash } of sequences(name)) {
    const report = await runCalls(domain, calls, task ?? undefined)
    for (const [index, { content, error }] of report.outputs.entries()) {
      const expected = calls[index]
      if (shorten(content) !== expected?.content || error !== expected.error)
        differences.push(`${JSON.stringify(expected)} gave ${content}`)
    }
    if (`${[report.agent_hash, report.user_hash]}` !== `${hash}`)
      differences.push(`another hash after ${JSON.stringify(calls)}`)
  }
  return differences
}

function sequences(domain: string): readonly Sequence[] {
  const path = join(import.meta.dirname, '../../fixtures/tau2', `${domain}.generated.json`)
  // The fixture's own shape; read so that arguments keep what is an int and what a float.
  return toJson(parseJson(readFileSync(path, 'utf8'))) as unknown as readonly Sequence[]
}

/** Long answers are kept as their hash. */
function shorten(content: string): string {
  if (content.length <= 300) return content
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
