import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { say } from './wire.ts'

/** How an honest client fared. */
export interface Fared {
  readonly calls: number
  readonly failures: readonly string[]
  /** Latencies in milliseconds, sorted. */
  readonly latencies: readonly number[]
}

const headers = {
  'content-type': 'application/json',
  'a2a-version': '1.0',
  authorization: 'Bearer ann-token',
}

/** Calls as a user's program would, every 25 ms, until told to end. Whatever is not the right answer is a failure. */
export async function beHonest(url: string, ended: AbortSignal): Promise<Fared> {
  const failures: string[] = []
  const latencies: number[] = []
  const running = new Set<Promise<void>>()
  const dispatcher = new Agent({ headersTimeout: 10_000, bodyTimeout: 10_000 })
  let calls = 0
  let taskId = ''

  async function ask(agent: string, method: string, params: object): Promise<string> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await request(`${url}/agents/${agent}`, {
      method: 'POST',
      headers,
      body,
      dispatcher,
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${method}: ${answer.statusCode} ${text}`)
    return text
  }

  const acts: readonly (() => Promise<boolean>)[] = [
    async () => (await ask('echo', 'SendMessage', say('hello'))).includes('You said 5'),
    async () => (await ask('twenty', 'SendStreamingMessage', say('go'))).includes('19 '),
    async () => {
      const answer = await ask('twenty', 'SendMessage', say('go'))
      taskId = /"id":"([^"]{36})"/.exec(answer)?.[1] ?? ''
      return answer.includes('TASK_STATE_COMPLETED')
    },
    async () => (await ask('twenty', 'GetTask', { id: taskId })).includes('TASK_STATE_COMPLETED'),
    async () => (await ask('twenty', 'ListTasks', { pageSize: 5 })).includes('"tasks"'),
    async () => {
      const webhook = { taskPushNotificationConfig: { url: `${url}/hook` } }
      const answer = await ask('twenty', 'SendMessage', say('go', { configuration: webhook }))
      return answer.includes('TASK_STATE_COMPLETED')
    },
  ]

  async function one(act: () => Promise<boolean>, name: number): Promise<void> {
    const start = performance.now()
    try {
      if (!(await act())) failures.push(`act ${name}: another answer than expected`)
    } catch (error) {
      failures.push(String(error))
    }
    latencies.push(performance.now() - start)
  }

  while (!ended.aborted) {
    const number = calls++ % acts.length
    const act = acts[taskId === '' ? 2 : number]
    if (!act) break
    const done = one(act, number).finally(() => running.delete(done))
    running.add(done)
    if (taskId === '') await done
    await pause(25)
  }
  await Promise.all(running)
  await dispatcher.close()
  return { calls, failures, latencies: latencies.sort((a, b) => a - b) }
}
