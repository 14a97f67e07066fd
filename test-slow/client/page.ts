/** What a web page does with the client. It is bundled as a user's page would be, and runs in a browser. */
import { A2AError, textOf } from 'corral'
import { A2AClient, listenForRedirect } from 'corral/client'

const client = new A2AClient(location.origin)

/** Breaks every connection of this page, and lets the agent go on. */
declare function cut(): Promise<void>

async function fault(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof A2AError)) throw new Error(`Not an error of ours: ${error}`)
  return error.code
}

/** What the tests call, by its name in the page. */
const pageClient = {
  card: async () => (await client.fetchAgentCard()).name,
  send: (text: string) => client.run(text),

  async stream(text: string): Promise<{ texts: string[]; states: string[] }> {
    const texts: string[] = []
    const states: string[] = []
    for await (const event of client.sendMessageStream(text)) {
      if ('artifactUpdate' in event) texts.push(textOf(event.artifactUpdate.artifact.parts))
      if ('statusUpdate' in event) states.push(event.statusUpdate.status.state)
    }
    return { texts, states }
  },

  /** Follows a task whose connection breaks after its second piece. */
  async resume(text: string): Promise<string[]> {
    const texts: string[] = []
    for await (const event of client.sendAndFollow(text)) {
      if (!('artifactUpdate' in event)) continue
      texts.push(textOf(event.artifactUpdate.artifact.parts))
      if (texts.length === 2) await cut()
    }
    return texts
  },

  async converse(): Promise<string> {
    const { task } = asTask(await client.sendMessage('ask'))
    if (task.status.state !== 'TASK_STATE_INPUT_REQUIRED') return task.status.state
    const { id: taskId, contextId } = task
    return client.run('blue', { taskId, contextId })
  },

  async cancel(): Promise<string> {
    const configuration = { returnImmediately: true }
    const { task } = asTask(await client.sendMessage('wait', { configuration }))
    return (await client.cancelTask(task.id)).status.state
  },

  listens: () => fault(listenForRedirect()),
  notFound: () => fault(client.getTask('nobody')),
  failed: () => fault(client.run('fail')),
  unreachable: (url: string) =>
    fault(new A2AClient({ serverUrl: url, retry: { maxRetries: 0 } }).run('hi')),
}

function asTask<T extends object>(answer: T): Extract<T, { readonly task: unknown }> {
  if (!('task' in answer)) throw new Error('The answer is no task')
  return answer as Extract<T, { readonly task: unknown }> // it has one
}

declare global {
  var corral: typeof pageClient
}
globalThis.corral = pageClient
