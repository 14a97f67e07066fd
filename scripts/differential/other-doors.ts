import type { Random } from '../../test/durability/random.ts'
import { words } from './dialects.ts'
import type { Known } from './generate.ts'
import type { Request } from './wire.ts'

type Json = Record<string, unknown>

const json = ['Content-Type', 'application/json'] as const
const agents = [
  'player',
  'brittle',
  'echo-agent',
  'flow',
  'led',
  'routed',
  'model',
  'former',
  'nobody',
  '',
]

/** A request at a door that is not A2A's, or for a page. */
export function otherDoor(random: Random, known: Known, kind: string): Request {
  const roll = random.next()
  if (roll < 0.3) return openAI(random, known)
  if (roll < 0.38) return chat(random, known)
  if (roll < 0.55) return mcp(random, known)
  if (roll < 0.75 && (kind === 'open' || kind === 'keyed')) return consoleApi(random, known)
  return page(random)
}

function openAI(random: Random, known: Known): Request {
  if (random.chance(0.1))
    return {
      method: 'GET',
      target: random.pick(['/v1/models', '/v1/models/player', '/v1/models/nobody', '/v1/models/']),
      headers: [],
    }
  const content = random.pick<unknown>([
    words(random),
    [{ type: 'text', text: words(random) }],
    'tool please',
    'json',
    'fail',
    null,
    7,
  ])
  const body: Json = {
    model: random.pick(agents),
    messages: random.chance(0.9)
      ? [...history(random), { role: 'user', content }]
      : random.pick<unknown>([[], null, 'x', [{ role: 'robot', content: 'x' }]]),
    stream: random.pick([true, false, false, undefined]),
  }
  const extras: Json = {
    stream_options: { include_usage: true },
    stop: random.pick<unknown>(['one', ['two', 'x'], 7]),
    tools: [
      {
        type: 'function',
        function: { name: 'look', description: 'Looks', parameters: { type: 'object' } },
      },
    ],
    tool_choice: random.pick(['auto', 'none', 'required']),
    response_format: random.pick<unknown>([
      { type: 'text' },
      { type: 'json_object' },
      {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object', required: ['answer'] } },
      },
      { type: 'odd' },
    ]),
    n: random.pick([1, 2]),
    metadata: random.pick<unknown>([
      { context_id: random.pick(known.contexts) },
      { task_id: random.pick(known.tasks) },
      { a: 1 },
    ]),
    user: 'c-1',
    temperature: 0.5,
  }
  for (const [name, value] of Object.entries(extras)) if (random.chance(0.1)) body[name] = value
  return {
    method: 'POST',
    target: '/v1/chat/completions',
    headers: [json],
    body: JSON.stringify(body),
  }
}

function history(random: Random): readonly Json[] {
  if (!random.chance(0.2)) return []
  return [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'string a' },
    { role: 'assistant', content: 'Echo: a' },
  ]
}

function chat(random: Random, known: Known): Request {
  const context = {
    context_id: random.pick(known.contexts),
    task_id: random.pick(known.tasks),
    team_id: random.pick(agents),
  }
  const chosen = Object.fromEntries(Object.entries(context).filter(() => random.chance(0.4)))
  const body = {
    messages: [{ role: 'user', content: words(random) }],
    ...(random.chance(0.6) && { context: chosen }),
  }
  return { method: 'POST', target: '/v1/chat', headers: [json], body: JSON.stringify(body) }
}

function mcp(random: Random, known: Known): Request {
  const ids = { context_id: random.pick(known.contexts), task_id: random.pick(known.tasks) }
  const chosen = Object.fromEntries(Object.entries(ids).filter(() => random.chance(0.2)))
  const call = { name: random.pick(agents), arguments: { message: words(random), ...chosen } }
  const version = random.pick(['2025-06-18', '2025-03-26', '1999-01-01'])
  const [method, params] = random.pick<readonly [string, unknown]>([
    ['tools/call', call],
    ['tools/call', call],
    ['tools/call', { name: 'player', arguments: { message: 7 } }],
    ['tools/list', {}],
    [
      'initialize',
      { protocolVersion: version, capabilities: {}, clientInfo: { name: 'still', version: '1' } },
    ],
    ['ping', {}],
    ['notifications/initialized', {}],
    ['nope', {}],
  ])
  const accept = random.chance(0.9) ? 'application/json, text/event-stream' : 'application/json'
  const headers = [json, ['Accept', accept] as const]
  const envelope = {
    jsonrpc: '2.0',
    ...(method.startsWith('notifications') ? {} : { id: 1 }),
    method,
    params,
  }
  return { method: 'POST', target: '/mcp', headers, body: JSON.stringify(envelope) }
}

function consoleApi(random: Random, known: Known): Request {
  const task = random.pick(known.tasks)
  const path = random.pick([
    'roster',
    'graph/flow',
    'graph/player',
    'graph/nobody',
    'edges/flow',
    'tasks',
    'tasks?limit=3',
    `tasks?limit=2&cursor=${random.pick(known.tokens)}`,
    'tasks?state=TASK_STATE_COMPLETED&agent=player',
    `tasks/${task}`,
    `tasks/${task}/records`,
    `tasks/${task}/wire`,
    'receiver/unknown',
    'nowhere',
  ])
  const headers = random.chance(0.9) ? [['X-Corral-Console', '1'] as const] : []
  return { method: random.chance(0.95) ? 'GET' : 'POST', target: `/console/api/${path}`, headers }
}

function page(random: Random): Request {
  const target = random.pick([
    '/.well-known/agent-card.json',
    '/.well-known/agent.json',
    '/.well-known/jwks.json',
    '/.well-known/oauth-protected-resource',
    '/.well-known/nothing',
    '/agents',
    '/agents/flow/.well-known/agent-card.json',
    '/agents/led',
    '/health',
    '/health?live=1',
    '/console',
    '/console/',
    '/console/assets/nothing.js',
    '/',
    '/favicon.ico',
    '*',
  ])
  const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST'])
  const headers = (
    [
      ['Accept', random.pick(['text/html', 'application/json'])],
      ['If-None-Match', random.pick(['*', '"x"'])],
      ['Origin', random.pick(['https://page.example', 'https://evil.example'])],
      ['Access-Control-Request-Method', 'POST'],
      ['A2A-Version', random.pick(['0.3', '1.0', '9'])],
      ['Accept-Encoding', 'gzip'],
    ] as const
  ).filter(() => random.chance(0.25))
  return { method, target, headers }
}
