/**
 * The agents of server.mjs. Members of teams leave a trace each time they run, outside the store: a line
 * `<task> <member> <nonce> <input> .`; a kill may cut it short, then it has no full stop and the next is on a new line.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { A2AAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

/** Every agent: `effects` is the file for traces, `remote` where another such server answers. */
export function createAgents({ effects, remote }) {
  const trace = createTrace(effects)
  return [
    agent('stream', speak),
    agent('slow', dawdle),
    agent('brittle', dawdle, {}),
    agent('ask', ask),
    agent('walk', (_message, turn) => walk(turn, trace)),
    agent('poison', (_message, turn) => killLater(turn, trace)),
    agent('bomb', () => process.kill(process.pid, 'SIGKILL')),
    agent('stepper', stepAndKill),
    asker(trace, 'guide'),
    errand(trace),
    ...createTeams(trace, remote),
  ]
}

function createTeams(trace, remote) {
  const workers = (...ids) => Object.fromEntries(ids.map((id) => [id, worker(trace, id)]))
  const askers = (...ids) => Object.fromEntries(ids.map((id) => [id, asker(trace, id)]))
  const chain = (id, agents) => workflow(id, agents, Object.keys(agents).map(step))
  const inner = chain('inner', { ...askers('b'), ...workers('c') })
  const parallel = [step('q1'), step('q2')]
  const approval = { approval: { question: 'Publish?' } }
  const far = (id) => ({ [id]: remoteAgent(`${remote}/agents/${id}`, id) })
  return [
    chain('team', workers('first', 'second', 'third')),
    chain('flow', { ...workers('a'), ...askers('b'), ...workers('c') }),
    chain('nested', { ...workers('a'), inner, ...workers('d') }),
    workflow('pair', { ...askers('q1', 'q2'), ...workers('c') }, [{ parallel }, step('c')]),
    workflow('press', workers('draft', 'publish'), [step('draft'), approval, step('publish')]),
    ...(remote
      ? [
          chain('distant', { ...workers('a'), ...far('guide'), ...workers('c') }),
          chain('outing', { ...workers('a'), ...far('errand'), ...workers('c') }),
        ]
      : []),
  ]
}

function step(agentId) {
  return { agentId }
}

function workflow(id, agents, steps) {
  return defineTeam({ id, name: id, agents, scheduler: { type: 'workflow', steps } })
}

function remoteAgent(endpoint, id) {
  const taskHandling = 'PollUntilComplete'
  return new A2AAgent({ endpoint, id, name: id, timeoutSeconds: 60, maxRetries: 8, taskHandling })
}

function agent(id, process, rest = { resumable: true }) {
  return {
    info: () => ({
      id,
      name: id,
      description: `The ${id} agent`,
      capabilities: [id],
      metadata: {},
    }),
    process(message, turn) {
      tell({ taskId: turn.taskId, name: nameOf(message) })
      return process(message, turn)
    },
    ...rest,
  }
}

/** Tells whoever started the process what happens in it. */
function tell(message) {
  process.send?.(message)
}

/** The operation that a message came from. */
function nameOf(message) {
  return textOf(message).split('.')[0]
}

/** Ends early when the turn does. */
function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort)
  })
}

function textOf(message) {
  return message.parts.map((part) => part.text ?? '').join('')
}

/** What an agent is asked after its name, such as the 40 of `slow 40`; what the caller does not say is chosen. */
function amountOf(message, least, most) {
  const said = /\b(\d+)$/.exec(textOf(message))
  return said ? Number(said[1]) : least + Math.floor(Math.random() * (most - least))
}

/** Speaks in chunks. */
async function* speak(message, turn) {
  const chunks = amountOf(message, 2, 12)
  for (let index = 0; index < chunks; index++) {
    yield `${index} `
    await wait(Math.random() * 8, turn.signal)
  }
}

/** Takes its time, unless it is cancelled. */
async function* dawdle(message, turn) {
  yield turn.status('TASK_STATE_WORKING', 'This takes a while')
  await wait(amountOf(message, 20, 300), turn.signal)
  yield 'done'
}

/** Asks once, then answers. */
async function* ask(message, turn) {
  await wait(Math.random() * 5, turn.signal)
  if (turn.task) yield `heard ${textOf(message)}`
  else yield turn.ask('ask: which one?')
}

/** Goes twelve legs, each a durable step, and says so after each. */
async function* walk(turn, trace) {
  for (let number = 1; number <= 12; number++) {
    const leg = `leg${number}`
    const nonce = crypto.randomUUID()
    let isNew = false
    await turn.step(leg, async () => {
      isNew = true
      trace.leave(turn, leg, nonce)
      tell({ reached: 'step' })
      await wait(20 + Math.random() * 30, turn.signal)
      return `${leg}=${nonce}`
    })
    if (!isNew) continue
    tell({ reached: 'between steps' })
    await wait(Math.random() * 10, turn.signal)
    yield turn.status('TASK_STATE_WORKING', leg)
  }
  yield 'arrived'
}

function createTrace(effects) {
  return {
    leave(turn, name, nonce, input = '') {
      appendFileSync(effects, `\n${turn.taskId} ${name} ${nonce} ${encodeURIComponent(input)} .`)
    },
    has: (turn, name) => readFileSync(effects, 'utf8').includes(`${turn.taskId} ${name} `),
  }
}

/** A member that answers with what it was asked, its name and a number of this run. */
function worker(trace, id) {
  return agent(id, async (message, turn) => {
    const nonce = crypto.randomUUID()
    const text = textOf(message)
    const holds = text.includes(`hold ${id}`) && !trace.has(turn, id)
    trace.leave(turn, id, nonce, text)
    await wait(holds ? 3_600_000 : Math.random() * 15, turn.signal)
    return `${text} ${id}=${nonce}`
  })
}

/** A member that asks once, then answers like a worker. */
function asker(trace, id) {
  return agent(id, async function* (message, turn) {
    const nonce = crypto.randomUUID()
    trace.leave(turn, id, nonce, textOf(message))
    await wait(Math.random() * 10, turn.signal)
    if (turn.task) yield `${id}[${textOf(message)}] ${id}=${nonce}`
    else yield turn.ask(`${id}: which one? ${id}=${nonce}`)
  })
}

/** Takes its time and says so, as remote work does that somebody may call off. */
function errand(trace) {
  return agent('errand', async function* (message, turn) {
    const nonce = crypto.randomUUID()
    trace.leave(turn, 'errand', nonce, textOf(message))
    yield turn.status('TASK_STATE_WORKING', 'On the way')
    await wait(Math.random() * 150, turn.signal)
    yield `${textOf(message)} errand=${nonce}`
  })
}

/** Does nothing at first, and kills its process whenever it is taken up again. */
function killLater(turn, trace) {
  const isFirst = !trace.has(turn, 'poison')
  trace.leave(turn, 'poison', '-')
  if (!isFirst) process.kill(process.pid, 'SIGKILL')
  return wait(3_600_000, turn.signal)
}

/** Finishes one more step at each attempt and kills its process, until there are five. */
async function stepAndKill(_message, turn) {
  for (let count = 1; count <= 5; count++) {
    let isNew = false
    await turn.step(`step ${count}`, () => {
      isNew = true
      return count
    })
    if (isNew) process.kill(process.pid, 'SIGKILL')
  }
  return 'all five'
}
