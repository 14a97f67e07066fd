import { describe, expect, onTestFinished, test } from 'vitest'
import { type Form, type KeySchema, tablesOf } from '../../../scripts/configuration/tables.ts'
import {
  type AgentConfig,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
} from '../../../src/agents/config.ts'
import { createEchoAgent } from '../../../src/agents/function.ts'
import { readGuards } from '../../../src/agents/guards/built-in.ts'
import type { ReadyGuard } from '../../../src/agents/guards/ready.ts'
import { parseConfig, toConfigJsonSchema } from '../../../src/app/config/load.ts'
import { storePlace, toListenOptions, toServerOptions } from '../../../src/app/serve.ts'
import { createGuard } from '../../../src/network/guard.ts'
import { traceExtension } from '../../../src/protocol/extensions.ts'
import { authenticators, createAuth } from '../../../src/server/access/auth.ts'
import { resolveLimits } from '../../../src/server/access/limits.ts'
import { createServer } from '../../../src/server/server.ts'
import { toSnakeCase } from '../../../src/shared/text.ts'

const schema = toConfigJsonSchema() as KeySchema // what zod makes is a JSON Schema

const tables = tablesOf(schema)

const defaults = Object.fromEntries(
  [...tables].flatMap(([path, forms]) =>
    forms.flatMap(({ properties }) =>
      Object.entries(properties).flatMap(([key, facts]) =>
        facts.default === undefined ? [] : [[`${path}.${key}`, facts.default]],
      ),
    ),
  ),
)

/** A file with no more than it must have. */
const { agents, teams, server } = parseConfig(`
[[agents]]
id = "remote"
name = "Remote"
protocol = "a2a"
endpoint = "https://agent.example.com"

[[agents]]
id = "model"
name = "Model"
protocol = "openai"
endpoint = "https://api.openai.com/v1"
metadata = { api_key = "k" }

[[teams]]
id = "team"
name = "Team"
description = ""
agents = [{ agent_id = "remote" }]
router_config = { default_agent_id = "remote" }
capability_details = [{ name = "writing" }]
`)

const [remote, model] = agents as [AgentConfig, AgentConfig] // the two above

describe('what the schema says of defaults', () => {
  test('is what holds in a file that says nothing', () => {
    const seen = {
      'agents.timeout_seconds': toA2AAgentConfig(remote).timeoutSeconds,
      'agents.max_retries': toA2AAgentConfig(remote).maxRetries,
      'agents.model.name': toOpenAIAgentConfig(model).model,
      'agents.metadata.auth_header': headerOf({ ...remote, metadata: { api_key: 'k' } }),
      'teams.capability_details.version': teams[0]?.capabilityDetails?.[0]?.version,
      'server.host': toListenOptions(server, {}).host,
      'server.port': toListenOptions(server, {}).port,
      'server.store': storePlace(server, { path: 'corral.toml' }),
      'server.console.enabled': toServerOptions(server).console !== undefined,
      'server.webhooks.enabled': toServerOptions({ webhooks: {} }).pushNotifications !== false,
      'server.webhooks.allow_http': takesHttp(),
      'server.auth.required': !createAuth({ authenticators: [] }).open,
      'server.auth.api_key_header': keyHeader(),
      ...limits(),
    }
    expect(defaults).toMatchObject(seen)
    expect(Object.keys(seen).length).toBeGreaterThan(25)
  })

  test('has the default handling of tasks in its spelling of a file', () => {
    const task_handling = String(defaults['agents.metadata.task_handling'])
    const { taskHandling } = toA2AAgentConfig({ ...remote, metadata: { task_handling } })
    expect(taskHandling).toBe(toA2AAgentConfig(remote).taskHandling)
  })

  test('is what callers of a server see that says nothing', async () => {
    const path = '/.well-known/agent-card.json'
    const served = await createServer({ agents: [createEchoAgent()], ...toServerOptions(server) })
    onTestFinished(() => served.close())
    const { body } = await served.handle({ method: 'GET', path, query: '', headers: {}, body: '' })
    const seesTrace = String(body).includes(traceExtension)
    expect(defaults).toMatchObject({ 'server.trace': seesTrace })
  })

  test.each([
    { use: 'length', max: 3 },
    { use: 'pattern', deny: 'joe' },
    { use: 'secrets' },
    { use: 'email' },
  ])('is what the guard $use does without an action', async (rule) => {
    const form = tables.get('agents.guards.input')?.find(isFormOf(rule))
    const [guard] = readGuards({ input: [rule] }).input
    expect(await actionOf(guard)).toBe(form?.properties.action?.default)
  })
})

function isFormOf({ use: name, ...settings }: { readonly use: string }) {
  return ({ properties: { use, ...keys } }: Form): boolean =>
    [use?.const, ...(use?.enum ?? [])].includes(name) &&
    Object.keys(settings).every((key) => key in keys)
}

/** What a guard does with text that it does not like. */
async function actionOf(guard: ReadyGuard | undefined): Promise<string | undefined> {
  if (guard?.kind === 'cleaner') return guard.action
  if (guard?.kind !== 'form') return undefined
  return (await guard.judge([{ text: 'too long for it' }])).verdict
}

/** Limits where the heap sets none, and replicas share the store. */
function limits(): Readonly<Record<string, number>> {
  const shared = { store: { feed: {} } }
  const entries = Object.entries(resolveLimits(shared, Number.POSITIVE_INFINITY))
  return Object.fromEntries(entries.map(([key, n]) => [`server.limits.${toSnakeCase(key)}`, n]))
}

function headerOf(agent: AgentConfig): string | undefined {
  const { auth } = toA2AAgentConfig(agent)
  return auth?.type === 'api_key' ? auth.header : undefined
}

function keyHeader(): string | undefined {
  const { scheme } = authenticators.apiKey({ keys: {} })
  return scheme && 'apiKeySecurityScheme' in scheme ? scheme.apiKeySecurityScheme.name : undefined
}

function takesHttp(): boolean {
  try {
    createGuard().check('http://hooks.example.com')
    return true
  } catch {
    return false
  }
}
