import { describe, expect, test } from 'vitest'
import { type KeySchema, tablesOf } from '../../../scripts/configuration/tables.ts'
import type { AgentConfig } from '../../../src/agents/config.ts'
import { toA2AAgentConfig, toOpenAIAgentConfig } from '../../../src/agents/config.ts'
import { toConfigJsonSchema } from '../../../src/app/config/json-schema.ts'
import { parseConfig } from '../../../src/app/config/load.ts'
import { storePlace } from '../../../src/app/open-store.ts'
import { toListenOptions, toServerOptions } from '../../../src/app/server-options.ts'
import { createGuard } from '../../../src/network/guard.ts'
import { createAuth } from '../../../src/server/auth.ts'
import { authenticators } from '../../../src/server/authenticators.ts'
import { resolveLimits } from '../../../src/server/limits.ts'
import { toSnakeCase } from '../../../src/shared/text.ts'

const schema = toConfigJsonSchema() as KeySchema // what zod makes is a JSON Schema
const defaults = Object.fromEntries(
  [...tablesOf(schema)].flatMap(([path, forms]) =>
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
})

/** Limits where the heap sets none. */
function limits(): Readonly<Record<string, number>> {
  const entries = Object.entries(resolveLimits({}, Number.POSITIVE_INFINITY))
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
