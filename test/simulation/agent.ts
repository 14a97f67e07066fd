import type { Agent, AgentEvent, Turn } from '../../src/agents/agent.ts'
import { textOf } from '../../src/protocol/task.ts'
import { wait } from '../../src/shared/async.ts'
import type { VirtualProcess, World } from './world.ts'

/** What a message asks the agent to do. It travels as JSON in the message's text. */
export interface Plan {
  /** Durable steps, and how long each takes. */
  readonly steps: number
  readonly stepMs: number
  /** How long the user takes to log in, in the midst of the turn; 0 where nobody is asked to. */
  readonly loginMs: number
  /** Chunks of an answer, told one by one. */
  readonly chunks: number
  readonly chunkMs: number
  readonly end: 'ask' | 'done'
}

/** What an agent needs of its process. */
export interface SimulatedAgentOptions {
  readonly process: VirtualProcess
  /** Whether it wants to hear of cancels. */
  readonly hearsCancels: boolean
  /** Told when it has heard that a task was cancelled. */
  heardCancel(taskId: string): void
  /** Told right before a step's work begins. */
  stepBegins(turn: Turn, name: string): void
}

/** An agent that does what it is told, in virtual time, and can be taken up anywhere. */
export function createSimulatedAgent(options: SimulatedAgentOptions): Agent {
  const { process, hearsCancels, heardCancel, stepBegins } = options
  const { clock } = process

  async function* work(turn: Turn, plan: Plan): AsyncGenerator<AgentEvent> {
    for (let i = 1; i <= plan.steps; i++) {
      const name = `step ${i}`
      await turn.step(name, async () => {
        stepBegins(turn, name)
        await wait(clock, plan.stepMs, turn.signal)
        return i
      })
    }
    if (plan.loginMs > 0) {
      yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Log in, please')
      await wait(clock, plan.loginMs, turn.signal)
      yield turn.status('TASK_STATE_WORKING')
    }
    const artifactId = `answer ${turn.number}`
    for (let i = 1; i <= plan.chunks; i++) {
      const parts = [{ text: `${i} ` }]
      yield turn.artifact({ artifactId, parts }, { append: i > 1, lastChunk: i === plan.chunks })
      await wait(clock, plan.chunkMs, turn.signal)
    }
    yield plan.end === 'ask' ? turn.ask('What next?') : turn.status('TASK_STATE_COMPLETED')
  }

  return {
    info: () => ({
      id: 'agent',
      name: 'simulated',
      description: 'Does what it is told',
      capabilities: [],
      metadata: {},
    }),
    resumable: true,
    // A plan that was sent was made by `JSON.stringify` of one.
    process: (message, turn) => work(turn, JSON.parse(textOf(message.parts)) as Plan),
    ...(hearsCancels && {
      async cancel({ taskId }) {
        await wait(clock, cancelMs)
        heardCancel(taskId)
      },
    }),
  }
}

/** How long it takes to call off what a task has left elsewhere. */
const cancelMs = 150

/** Something to do, at random. */
export function randomPlan({ random }: World): Plan {
  return {
    steps: random.between(0, 3),
    stepMs: random.chance(0.2) ? random.between(100, 1_500) : random.between(0, 60),
    loginMs: random.chance(0.15) ? random.between(50, 800) : 0,
    chunks: random.between(0, 3),
    chunkMs: random.between(0, 40),
    end: random.chance(0.8) ? 'ask' : 'done',
  }
}
