import type { Agent } from '../../../src/agents/agent.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { type ModelAnswer, type ModelRequest, openModelServer } from '../../../src/testing/index.ts'
import type { Outcome, Process, Scenario, World } from './explorer.ts'

/** What a model gives, and the words of it that nothing else has. */
interface ModelReply {
  readonly says: ModelAnswer
  readonly gives: string
}

/** What a model is asked: its name, the last message of the user and how many results of tools it has. */
interface Asked {
  readonly model: string
  readonly text: string
  readonly results: number
}

/** A model service that outlives processes and notes each call, so that the same question has the same answer. */
export function modelWorld(reply: (asked: Asked) => ModelReply): NonNullable<Scenario['world']> {
  return async (ledger) => {
    const service = await openModelServer((request) => {
      const asked = toAsked(request)
      const { says, gives } = reply(asked)
      ledger.note('model', `${asked.model} ${asked.text} ${asked.results}`, gives)
      return says
    })
    return { urls: { model: service.url }, close: service.close }
  }
}

function toAsked({ model, messages }: ModelRequest): Asked {
  const said = messages.filter(({ role }) => role === 'user').at(-1)?.content
  const results = messages.filter(({ role }) => role === 'tool').length
  return { model, text: typeof said === 'string' ? said : JSON.stringify(said), results }
}

/** A model of a world; in a process that has died it asks nothing more. */
export function model(
  process: Process,
  { urls }: World,
  { id, ...more }: Partial<OpenAIAgentOptions> & { readonly id: string },
): Agent {
  const service = { endpoint: urls?.model ?? '', apiKey: 'k', maxRetries: 0, timeoutSeconds: 20 }
  const agent = new OpenAIAgent({ ...service, model: id, id, name: id, ...more })
  const ask = agent.process.bind(agent)
  agent.process = async function* (...given) {
    if (!process.alive) await new Promise(() => {})
    yield* ask(...given)
  }
  return agent
}

/** At these prices each answer of the scripted service, 11 and 7 tokens, costs a cent. */
export function centsFor(...models: readonly string[]) {
  return Object.fromEntries(
    models.map((name) => [name, { input: 6_500 / 11, output: 3_500 / 7 }] as const),
  )
}

/**
 * What is wrong with the money of a run: a call that is not counted, or counted twice, or one too many. One that a crash
 * interrupted was paid for; it is counted where the process lived long enough to note it.
 */
export function wrongMoney(
  { asked, usage, words }: Outcome,
  { crashes, atOnce = 1 }: { readonly crashes: number; readonly atOnce?: number },
): readonly string[] {
  const calls = asked.get('model') ?? []
  const wanted = new Set(calls).size
  const told = usage?.costUsd ?? Number(/: ([\d.]{1,9}) are spent/.exec(words)?.[1])
  const cents = Math.round(told * 100)
  const wrong: string[] = []
  if (!(cents >= wanted && cents <= calls.length))
    wrong.push(`${cents} cents are counted for ${wanted} answers and ${calls.length} calls`)
  if (calls.length > wanted + crashes * atOnce)
    wrong.push(`${calls.length} calls were made for ${wanted} answers`)
  return wrong
}
