import { onTestFinished } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { defineTeam } from '../../src/team/team.ts'
import { type ModelAnswer, type ModelRequest, openModelServer } from '../../src/testing/index.ts'

/** A served team of models: a lead that delegates by tools to a writer and a critic. */
interface Desk {
  readonly url: string
  /** Resolves when the writer is asked; it answers once `release` is called, where it was told to wait. */
  readonly asked: Promise<void>
  release(): void
}

/** The lead's answer. */
export const plan = `# The launch

The plan is **ready**, and *short*: see [the page](https://example.com/plan).

- write the *words* that everybody will read on the first morning of the launch, and not before
- ask \`critic\`

> Said the critic: good.

| step | who |
|---|---|
| draft | writer |
| 審査 | critic |

\`\`\`sh
corral serve team.toml
\`\`\`
Done.`

/** Serves one until the test ends. A message with "wait" in it keeps the writer waiting. */
export async function serveDesk(options: { readonly trace?: boolean } = {}): Promise<Desk> {
  const asked = createDeferred<void>()
  const released = createDeferred<void>()
  const answer = async (body: ModelRequest): Promise<ModelAnswer> => {
    const said = JSON.stringify(body.messages)
    if (body.model === 'lead') return lead(said, body)
    if (body.model === 'writer') {
      asked.resolve()
      if (said.includes('wait')) await released.promise
    }
    return body.model === 'writer' ? 'Once upon a launch …' : 'Good.'
  }
  const models = await openModelServer(answer)
  const toModel = (id: string): OpenAIAgent =>
    new OpenAIAgent({
      id,
      name: id,
      description: `the ${id}`,
      endpoint: models.url,
      apiKey: 'key',
      model: id,
      timeoutSeconds: 60,
      maxRetries: 0,
      tools: [],
    })
  const agents = { lead: toModel('lead'), writer: toModel('writer'), critic: toModel('critic') }
  const scheduler = { type: 'supervisor', supervisorAgentId: 'lead' } as const
  const team = defineTeam({ id: 'desk', name: 'Desk', agents, scheduler })
  const server = await createServer({ agents: [team], ...options })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    released.resolve()
    await listening.close()
    await models.close()
  })
  return { url: listening.url, asked: asked.promise, release: () => released.resolve() }
}

function lead(said: string, { messages }: ModelRequest): ModelAnswer {
  if (messages.at(-1)?.role === 'tool') return { chunks: plan.split(/(?<= )/) }
  const message = said.includes('wait') ? 'wait, then write' : 'Write the launch'
  return {
    tools: [
      { name: 'delegate_to_writer', arguments: { message } },
      { name: 'delegate_to_critic', arguments: { message: 'Judge the launch' } },
    ],
  }
}
