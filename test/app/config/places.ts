import type { Form } from '../../../scripts/configuration/tables.ts'

type Table = Readonly<Record<string, unknown>>

/** A file that has a value under a key of one of its tables, and around it what must be there. */
export function fileWith(
  path: string,
  form: Form,
  { key, value }: { readonly key: string; readonly value: unknown },
): Table {
  const needed = Object.fromEntries(
    form.required.map((one) => [one, form.properties[one]?.examples?.[0]]),
  )
  const around = Object.entries(beside(path, key, value)).filter(([one]) => one in form.properties)
  const table = { ...needed, ...Object.fromEntries(around), [key]: value }
  const place = places[path]
  return place ? place(table) : inServer(path, table)
}

const writer = { id: 'writer', name: 'Writer', protocol: 'module', endpoint: './writer.mjs' }
const others = ['reviewer', 'judge'].map((id) => ({ ...writer, id }))
const draft = { name: 'draft', agent_id: 'writer' }
const flow = { type: 'workflow', steps: [draft] }
const team = {
  id: 'team',
  name: 'Team',
  description: '',
  agents: [{ agent_id: 'writer' }, { agent_id: 'reviewer' }, { agent_id: 'judge' }],
  scheduler_config: flow,
}
const base = { agents: [writer, ...others], teams: [team] }
const remote = { ...writer, protocol: 'a2a', endpoint: 'https://agent.example.com' }
const model = { ...writer, protocol: 'openai', endpoint: 'https://api.openai.com/v1' }
const sides = [
  { name: 'pro', agent_id: 'writer' },
  { name: 'con', agent_id: 'reviewer' },
]

const ofRemotes = ['task_handling', 'agent_id', 'auth_header', 'bearer_token']

const withAgent = (agent: Table): Table => ({
  agents: [agent, ...others],
  ...(agent.wait === 'push' && { server: { public_url: 'https://agents.example.com' } }),
})
const withTeam = (table: Table): Table => ({ ...base, teams: [{ ...team, ...table }] })
const withStep = (step: Table): Table => {
  const steps = step.name === draft.name ? [step] : [draft, step]
  return withTeam({ scheduler_config: { ...flow, steps } })
}

/** Where the tables stand. */
const places: Readonly<Record<string, (table: Table) => Table>> = {
  '/': (table) => ('agents' in table ? table : { ...base, ...table }),
  agents: withAgent,
  'agents.model': (table) => withAgent({ ...model, model: table }),
  'agents.tools': (table) => withAgent({ ...model, tools: [table] }),
  'agents.mcp_servers': (table) => withAgent({ ...model, mcp_servers: [table] }),
  'agents.auth': (table) => withAgent({ ...remote, auth: table }),
  'agents.metadata': (table) =>
    withAgent({ ...(ofRemotes.some((key) => key in table) ? remote : model), metadata: table }),
  'agents.guards': (table) => withAgent({ ...writer, guards: table }),
  'agents.guards.input': (table) => withAgent({ ...writer, guards: { input: [table] } }),
  'prices.*': (table) => ({ ...base, prices: { 'gpt-4.1': table } }),
  teams: ({ router_config: router, ...table }) =>
    router
      ? {
          ...base,
          teams: [{ ...team, ...table, scheduler_config: undefined, router_config: router }],
        }
      : withTeam(table),
  'teams.agents': (table) => withTeam({ agents: [table, ...team.agents.slice(1)] }),
  'teams.scheduler_config': (table) => withTeam({ scheduler_config: table }),
  'teams.scheduler_config.steps': withStep,
  'teams.scheduler_config.steps.join': (table) => withStep({ parallel: sides, join: table }),
  'teams.scheduler_config.steps.guards': (guards) => withStep({ agent_id: 'writer', guards }),
  'teams.scheduler_config.steps.join.guards': (guards) =>
    withStep({ parallel: sides, join: { agent_id: 'judge', guards } }),
  'teams.scheduler_config.steps.map.guards': (guards) =>
    withStep({ map: { agent_id: 'writer', guards } }),
  'teams.scheduler_config.steps.branch': (table) => withStep({ branch: [table] }),
  'teams.scheduler_config.steps.loop': (table) => withStep({ loop: table }),
  'teams.scheduler_config.steps.map': (table) => withStep({ map: table }),
  'teams.scheduler_config.steps.approval': (table) => withStep({ approval: table }),
  'teams.router_config': (table) => withTeam({ scheduler_config: undefined, router_config: table }),
  'teams.budget': (table) => withTeam({ budget: table }),
  'teams.guards': (guards) => withTeam({ guards }),
  'teams.provider': (table) => withTeam({ provider: table }),
  'teams.capability_details': (table) => withTeam({ capability_details: [table] }),
  'teams.skills': (table) => withTeam({ skills: [table] }),
}

/** The tables of a path within `[server]`; two of them are lists. */
function inServer(path: string, table: Table): Table {
  const names = path.split('.')
  const isList = /api_keys$|bearer_tokens$/.test(path)
  const inner = names.reduceRight<unknown>(
    (below, name) => ({ [name]: below }),
    isList ? [table] : table,
  )
  return { ...base, ...(inner as Table) } // made of a name at least
}

const outputSchema = { type: 'object', required: ['score'] }
const kinds = ['agent_id', 'parallel', 'branch', 'loop', 'map', 'approval']

/** What a key cannot be without. */
function beside(path: string, key: string, value: unknown): Table {
  const output = key === 'max_output_retries' ? { output_schema: outputSchema } : {}
  if (path === 'agents') return { ...agentFor(key, value), ...output }
  if (path.endsWith('.map') && key !== 'steps') return { agent_id: 'writer', ...output }
  if (path.endsWith('.join')) return output
  if (path.endsWith('.steps') && key === 'join') return { parallel: sides }
  if (path.endsWith('.steps') && !kinds.includes(key)) return { agent_id: 'writer', ...output }
  return companions[`${path}.${key}`] ?? companions[path] ?? {}
}

/** The kind of agent that has such a key or value. */
function agentFor(key: string, value: unknown): Table {
  if (['model', 'tools', 'mcp_servers', 'allow_files'].includes(key)) return model
  if (['auth', 'credential_origins', 'max_task_seconds', 'metadata', 'wait'].includes(key))
    return remote
  const isRemote = String(value).startsWith('https:') || value === 'openai'
  return isRemote ? remote : writer
}

const companions: Readonly<Record<string, Table>> = {
  'agents.guards.input': { max: 10 },
  'agents.metadata.auth_header': { api_key: 'secret' },
  'teams.scheduler_config': { type: 'workflow', steps: [draft] },
  'teams.scheduler_config.supervisor_agent_id': { type: 'supervisor' },
  'teams.scheduler_config.max_rounds': { type: 'supervisor', supervisor_agent_id: 'writer' },
  'teams.scheduler_config.steps.approval.max_feedback_rounds': { on_feedback: 'draft' },
  'teams.provider.url': { name: 'Example Press' },
}
