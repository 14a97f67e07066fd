import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AClient } from '../../../src/client/client.ts'
import { createGoldenAgent, createIdleAgent } from '../../../src/eval/agent/reference-agents.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import {
  createEvaluator,
  type EvaluatorOptions,
  evaluationPath,
  listEvaluations,
} from '../../../src/eval/serve.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import type { Json, SendMessageResponse, StreamResponse } from '../../../src/protocol/types.ts'
import { bearer } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { createResolver } from '../../network/resolver.ts'
import { built } from '../../support/built.ts'
import { serveAgent } from '../serving.ts'

async function serveEvaluator(over: Partial<EvaluatorOptions> = {}) {
  const archive = await mkdtemp(join(tmpdir(), 'eval-archive-'))
  onTestFinished(() => rm(archive, { recursive: true, force: true }))
  const client = new A2AClient(
    await serveAgent(
      createEvaluator({ archive, guard: { allow: ['127.0.0.1', 'localhost'] }, ...over }),
    ),
  )
  onTestFinished(() => client.close())
  return { archive, client }
}

function dataOf(response: SendMessageResponse): Json | undefined {
  const parts = 'message' in response ? response.message.parts : answerParts(response.task)
  return parts.flatMap((part) => ('data' in part ? [part.data] : []))[0]
}

async function ask(client: A2AClient, name: string, args: object = {}): Promise<Json | undefined> {
  const data = { tool_call: { name, arguments: { ...args } } }
  return dataOf(await client.sendMessage(userMessage([{ data }])))
}

describe('the evaluator as an agent', () => {
  test("runs AgentBeats' request, streams its progress, and ends with AgentBeats' result", async () => {
    const { client, archive } = await serveEvaluator()
    const agent = await serveAgent(createGoldenAgent(kestrel))
    const request = { participants: { agent }, config: { domain: 'airline', num_tasks: 4 } }
    const events: StreamResponse[] = []
    for await (const event of client.sendMessageStream(JSON.stringify(request))) events.push(event)
    const working = events.filter(
      (event) =>
        'statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_WORKING',
    )
    expect(JSON.stringify(working)).toContain('4/4 ')
    const [artifact] = events.flatMap((event) =>
      'artifactUpdate' in event ? [event.artifactUpdate.artifact] : [],
    )
    expect(artifact?.name).toBe('Result')
    expect(artifact?.parts[0]).toMatchObject({
      text: expect.stringContaining('kestrel: 4 of 4, 100 % passed'),
    })
    expect(artifact?.parts[1]).toMatchObject({
      data: {
        domain: 'kestrel',
        score: 4,
        max_score: 4,
        pass_rate: 100,
        task_rewards: { 'cancel-within-a-day': 1, 'cancel-too-late': 1 },
        time_used: expect.any(Number),
        user: 'scripted',
        do_nothing_rate: 0.5,
      },
    })
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    const [kept] = await readdir(archive)
    expect(JSON.stringify(artifact)).toContain(kept)
  })

  test('lists domains, and results by their id (T-1)', async () => {
    const { client } = await serveEvaluator()
    expect(await ask(client, 'list_domains')).toMatchObject({
      domains: [{ name: 'kestrel', num_tasks: 20 }],
    })
    for (const words of ['list domains', 'list_domains', 'Which domains are there?'])
      expect(dataOf(await client.sendMessage(words))).toMatchObject({ domains: [{}] })
    for (const words of ['list results', 'get_evaluation_results'])
      expect(dataOf(await client.sendMessage(words))).toEqual({ evaluations: [] })
    expect(await ask(client, 'get_evaluation_results')).toEqual({ evaluations: [] })
    const agent_endpoint = await serveAgent(createIdleAgent())
    const run = { domain: 'airline', agent_endpoint, task_ids: ['departed'], num_trials: 2 }
    const data = { name: 'run_tau2_evaluation', arguments: run }
    const sent = await client.sendMessage(userMessage([{ data }]))
    const id = /evaluation ([0-9a-f-]{36})/.exec(JSON.stringify(sent))?.[1]
    expect(await ask(client, 'get_evaluation_results')).toMatchObject({
      evaluations: [{ evaluation_id: id, domain: 'kestrel', agent: 'Idle agent', pass_rate: 1 }],
    })
    expect(await ask(client, 'get_evaluation_results', { evaluation_id: id })).toMatchObject({
      format: 'corral-eval/1',
      id,
      summary: { total_simulations: 2 },
    })
  })

  test('keeps ids from leading out of its archive (T-11)', async () => {
    const { client, archive } = await serveEvaluator()
    await mkdir(`${archive}-secret`)
    onTestFinished(() => rm(`${archive}-secret`, { recursive: true }))
    await writeFile(join(`${archive}-secret`, 'results.json'), '{"secret": true}')
    const wrong = [
      '../x',
      '..',
      '.',
      '',
      '/etc',
      'a/../../b',
      'a\\b',
      '%2e%2e',
      'a\0b',
      `../${archive.split('/').at(-1)}-secret`,
      'x'.repeat(200),
    ]
    for (const id of wrong) {
      expect(() => evaluationPath(archive, id)).toThrow('not valid')
      const reply = await ask(client, 'get_evaluation_results', { evaluation_id: id }).catch(
        (error) => error.message,
      )
      expect(JSON.stringify(reply ?? '')).not.toMatch(/secret"|ENOENT|tmp/)
    }
    expect(evaluationPath(archive, 'abc-1')).toBe(join(archive, 'abc-1'))
  })

  test('says what can be asked, and refuses agents that it may not call', async () => {
    const { client } = await serveEvaluator({
      allowEndpoint: (url) => url.startsWith('https://good.example/'),
    })
    const said = async (text: string) =>
      JSON.stringify(await client.sendMessage(text).catch((error) => error.message))
    expect(await said('Hello')).toContain('Ask for run_evaluation')
    const request = { participants: { agent: 'http://127.0.0.1:9' }, config: { domain: 'airline' } }
    expect(await said(JSON.stringify(request))).toContain('may not call')
    const unknown = { ...request, config: { domain: '__proto__' } }
    expect(await said(JSON.stringify(unknown))).toContain('no such domain')
    expect(await said('{"participants": {"agent": 7}}')).toContain('participants.agent')
  })

  test('calls no agent on this machine or its network unless the operator allows it', async () => {
    const agent = createServer((_request, response) => {
      visits++
      response.end()
    })
    let visits = 0
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void agent.close())
    const { port } = agent.address() as AddressInfo // it listens on a port
    const { lookup } = createResolver({ 'agent.example.com': [['127.0.0.1']] })
    const { client } = await serveEvaluator({ guard: { lookup } })
    const told = (url: string) =>
      client
        .sendMessage(JSON.stringify({ participants: { agent: url } }))
        .then(JSON.stringify, ({ message }) => message)
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:7f00:1]'])
      expect(await told(`http://${host}:${port}`)).toContain(
        'participants.agent must not point to an internal address',
      )
    expect(await told(`http://agent.example.com:${port}`)).toContain('TASK_STATE_FAILED')
    expect(visits).toBe(0)
    const open = await serveEvaluator({ allowEndpoint: () => true })
    await open.client.sendMessage(
      JSON.stringify({ participants: { agent: `http://127.0.0.1:${port}` } }),
    )
    expect(visits).toBeGreaterThan(0)
  })
})

describe('the evaluator with several callers', () => {
  const auth = { authenticators: [bearer({ tokens: { a: 'ann', b: 'bob' } })] }

  async function open(over: Partial<EvaluatorOptions> = {}) {
    const archive = await mkdtemp(join(tmpdir(), 'eval-archive-'))
    onTestFinished(() => rm(archive, { recursive: true, force: true }))
    const evaluator = createEvaluator({
      archive,
      guard: { allow: ['127.0.0.1', 'localhost'] },
      ...over,
    })
    const url = await serveAgent(evaluator, { auth, logger: false })
    const as = (token: string): A2AClient => {
      const client = new A2AClient({
        serverUrl: url,
        headers: { authorization: `Bearer ${token}` },
      })
      onTestFinished(() => client.close())
      return client
    }
    return { archive, ann: as('a'), bob: as('b') }
  }

  test('shows each caller its own evaluations, and the operator all of them', async () => {
    const { archive, ann, bob } = await open()
    const agent_endpoint = await serveAgent(createIdleAgent())
    const sent = await ask(ann, 'run_evaluation', { agent_endpoint, task_ids: ['departed'] })
    const id = (sent as { evaluation_id: string }).evaluation_id // the artifact's data has it
    expect(await ask(ann, 'get_evaluation_results')).toMatchObject({
      evaluations: [{ evaluation_id: id }],
    })
    expect(await ask(ann, 'get_evaluation_results', { evaluation_id: id })).toMatchObject({ id })
    expect(await ask(bob, 'get_evaluation_results')).toEqual({ evaluations: [] })
    const said = (evaluation_id: string) =>
      ask(bob, 'get_evaluation_results', { evaluation_id }).catch(({ message }) => message)
    expect(await said(id)).toEqual(await said('never-was'))
    expect(await listEvaluations(archive)).toMatchObject([{ evaluation_id: id }])
  })

  test('reads the results of its caller alone to list them', async () => {
    const { archive, ann, bob } = await open()
    const agent_endpoint = await serveAgent(createIdleAgent())
    const sent = await ask(ann, 'run_evaluation', { agent_endpoint, task_ids: ['departed'] })
    const id = (sent as { evaluation_id: string }).evaluation_id // the artifact's data has it
    // Nothing is ever written to the other's file: to read it takes for ever.
    await mkdir(join(archive, 'of-bob'))
    await writeFile(join(archive, 'of-bob', 'caller.json'), '{"tenant":"","user":"bob"}')
    execFileSync('mkfifo', [join(archive, 'of-bob', 'results.json')])
    expect(await ask(ann, 'get_evaluation_results')).toMatchObject({
      evaluations: [{ evaluation_id: id }],
    })
    await writeFile(join(archive, id, 'caller.json'), '{"tenant":"","user":"carl"}')
    await rm(join(archive, 'of-bob', 'results.json'))
    expect(await ask(bob, 'get_evaluation_results')).toEqual({ evaluations: [] })
  })

  test('reads results once to list them, and again when they have changed', async () => {
    const { archive, ann } = await open()
    const agent_endpoint = await serveAgent(createIdleAgent())
    const sent = await ask(ann, 'run_evaluation', { agent_endpoint, task_ids: ['departed'] })
    const { evaluation_id } = sent as { evaluation_id: string } // the artifact's data has it
    const file = join(archive, evaluation_id, 'results.json')
    const text = await readFile(file, 'utf8')
    const changedAt = new Date(1_700_000_000_000)
    await utimes(file, changedAt, changedAt)
    const before = await ask(ann, 'get_evaluation_results')
    const other = (text: string) =>
      text.replace('"domain_name": "kestrel"', '"domain_name": "KESTREL"')
    await writeFile(file, other(text))
    await utimes(file, changedAt, changedAt)
    const again = await ask(ann, 'get_evaluation_results')
    await writeFile(file, `${other(text)}\n`)
    const changed = await ask(ann, 'get_evaluation_results')
    expect(before).toMatchObject({ evaluations: [{ evaluation_id, domain: 'kestrel' }] })
    expect(again).toEqual(before)
    expect(changed).toMatchObject({ evaluations: [{ evaluation_id, domain: 'KESTREL' }] })
  })

  test('starts no more than one message may, and names the bound', async () => {
    const { ann } = await open({ maxSimulations: 40, maxSteps: 50 })
    const refused = async (config: object) => {
      const request = { participants: { agent: 'http://127.0.0.1:9' }, config }
      return JSON.stringify(await ann.sendMessage(JSON.stringify(request)).catch(String))
    }
    expect(await refused({ num_trials: 3 })).toContain('60 simulations')
    expect(await refused({ num_tasks: 5, num_trials: 9 })).toContain('45 simulations')
    expect(await refused({ num_tasks: 1, max_steps: 51 })).toContain('at most 50')
  })

  test('says in few words what is wrong with a long list of tasks', async () => {
    const { ann } = await open()
    const refused = async (task_ids: readonly Json[]) => {
      const request = { participants: { agent: 'http://127.0.0.1:9' }, config: { task_ids } }
      const sent = await ann.sendMessage(JSON.stringify(request))
      return textOf('task' in sent ? (sent.task.status.message?.parts ?? []) : [])
    }
    const long = await refused(Array.from({ length: 50_000 }, () => null))
    expect(long).toContain('config.task_ids: must be a list of at most 10000 ids')
    expect(long.length).toBeLessThan(2_000)
    const wrong = await refused(Array.from({ length: 5_000 }, () => null))
    expect(wrong).toContain('config.task_ids.0: ')
    expect(wrong).toContain('and 4980 more')
  })

  test('keeps no more of what an agent says than there is room for', async () => {
    const { ann } = await open({ maxCharacters: 400_000 })
    const words = 'x'.repeat(30_000)
    const call = { tool_call: { name: 'get_trip', arguments: { id: 'none' } } }
    let answers = 0
    const endless = defineAgent({ name: 'Endless' }, (_, turn) => {
      answers++
      return turn.reply([{ text: words }, { data: call }])
    })
    const agent_endpoint = await serveAgent(endless)
    const sent = await ask(ann, 'run_evaluation', { agent_endpoint, num_tasks: 3, num_trials: 4 })
    const { evaluation_id } = sent as { evaluation_id: string } // the artifact's data has it
    const results = await ask(ann, 'get_evaluation_results', { evaluation_id })
    expect(JSON.stringify(results)).toContain('The conversations are longer than may be kept')
    expect(answers).toBeLessThan(20)
  })

  test('lists an archive of more evaluations than a process may open files', async () => {
    const { archive, ann } = await open()
    const agent_endpoint = await serveAgent(createIdleAgent())
    const sent = await ask(ann, 'run_evaluation', { agent_endpoint, task_ids: ['departed'] })
    const { evaluation_id } = sent as { evaluation_id: string } // the artifact's data has it
    for (let i = 0; i < 300; i++)
      await cp(join(archive, evaluation_id), join(archive, `copy-${i}`), { recursive: true })
    // The built command: a loader of TypeScript may open that many files itself.
    const main = fileURLToPath(built('cli/main.js'))
    const list = `ulimit -n 200; exec ${process.execPath} ${main} eval list --json --dir ${archive}`
    const { evaluations } = JSON.parse(execFileSync('sh', ['-c', list], { encoding: 'utf8' }))
    expect(evaluations).toHaveLength(301)
  })

  test('runs a bounded number at the same time, one caller half of them', async () => {
    const { ann, bob } = await open({ maxEvaluations: 2 })
    const reached = createDeferred<void>()
    const release = createDeferred<void>()
    const slow = defineAgent({ name: 'Slow' }, async () => {
      reached.resolve()
      await release.promise
      return 'Done'
    })
    const agent_endpoint = await serveAgent(slow)
    const run = { agent_endpoint, task_ids: ['departed'] }
    const first = ask(ann, 'run_evaluation', run)
    await reached.promise
    const second = await ann
      .sendMessage(userMessage([{ data: { name: 'run_evaluation', arguments: run } }]))
      .then(JSON.stringify, ({ message }) => message)
    expect(second).toContain('Too many evaluations run')
    const other = ask(bob, 'run_evaluation', run)
    release.resolve()
    expect(await first).toMatchObject({ domain: 'kestrel' })
    expect(await other).toMatchObject({ domain: 'kestrel' })
    expect(await ask(ann, 'run_evaluation', run)).toMatchObject({ domain: 'kestrel' })
  })
})
