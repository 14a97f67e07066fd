import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseConfig, toConfigJsonSchema } from '../../src/app/config/load.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const examples = [
  'examples/fantasy/corral.toml',
  'examples/supervisor/corral.toml',
  'examples/router/corral.toml',
  'examples/router/router.toml',
  'examples/router/worker.toml',
  'examples/router/supervisor.toml',
  'examples/handoff/corral.toml',
  'examples/tools/corral.toml',
  'examples/config.example.toml',
  'examples/seeds/config.example.toml',
  'examples/guides/configuration/corral.toml',
]

const env = {
  MODEL_URL: 'http://localhost:3004/v1',
  MODEL: 'm',
  OPENAI_API_KEY: 'sk-1',
  REVIEWER_TOKEN: 't',
  API_TOKEN: 't',
  MCP_TOKEN: 't',
  ARCHIVE_KEY: 'k',
  LAWYER_TOKEN: 't',
  CLIENT_SECRET: 's',
  INDEX_KEY: 'k',
  CLERK_TOKEN: 't',
  ALICE_KEY: 'k',
  BOB_TOKEN: 't',
  ROUTER_URL: 'http://localhost:3000',
  WORKER_URL: 'http://localhost:3001',
  SUPERVISOR_URL: 'http://localhost:3002',
}

describe('the published JSON Schema', () => {
  const published = JSON.parse(read('schema/corral.schema.json'))

  test('is the one that the code checks by (else run: npm run schema)', () => {
    expect(published).toEqual(toConfigJsonSchema())
  })

  test.each(examples)('accepts %s', (path) => {
    expect(z.fromJSONSchema(published).safeParse(parse(read(path))).error).toBeUndefined()
  })

  test('refuses an unknown key and a step that is two things', () => {
    const schema = z.fromJSONSchema(published)
    expect(schema.safeParse({ agnts: [] }).success).toBe(false)
    const steps = [{ agent_id: 'a', approval: { question: '?' } }]
    const team = { id: 't', name: 'T', description: '', scheduler_config: { steps } }
    expect(schema.safeParse({ teams: [team] }).success).toBe(false)
  })
})

test.each([
  'first-team',
  'agents',
  'models-and-tools',
  'guards',
  'workflows',
  'supervisors-and-routers',
  'people-in-the-loop',
  'memory',
])('docs/guides/%s.md names no key that there is not', (guide) => {
  const keys = new Set([...keysOf(toConfigJsonSchema()), ...others])
  const named = read(`docs/guides/${guide}.md`).matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)
  expect([...named].flatMap(([, key = '']) => (keys.has(key) ? [] : [key]))).toEqual([])
})

/** What may stand in `[agents.metadata]` and as a value, which the schema leaves to the code, words of CEL and of doors. */
const others = [
  ...['exists_one', 'task_handling', 'api_key', 'system_prompt', 'context_id', 'task_id'],
  ...['content_filter', 'finish_reason'],
]

/** Every property name of a JSON Schema, however deep. */
function keysOf(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(keysOf)
  if (typeof schema !== 'object' || schema === null) return []
  const { properties, ...rest } = schema as { properties?: object } // JSON Schema's own shape
  return [
    ...Object.keys(properties ?? {}),
    ...keysOf(Object.values(properties ?? {})),
    ...keysOf(Object.values(rest)),
  ]
}

describe('the examples', () => {
  test.each(examples)('%s is valid', (path) => {
    expect(parseConfig(read(path), { env, path })).toBeDefined()
  })
})
