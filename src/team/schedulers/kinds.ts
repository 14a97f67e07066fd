import type { AgentInfo } from '../../agents/agent.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Json, Message, Part } from '../../protocol/types.ts'
import type { TeamScheduler } from '../config.ts'
import { delegate, delegateAll } from '../delegate.ts'
import { askUser, decide, type Run, toMember } from '../run.ts'
import { workflow } from '../workflow/plan.ts'
import type { SchedulerKind } from './kind.ts'
import { router } from './router.ts'
import type {
  AskOptions,
  MemberReply,
  OwnScheduler,
  SchedulerRun,
  TeamAgentConfig,
} from './scheduler.ts'
import { supervisor } from './supervisor.ts'

/** Schedulers that users bring: what they define, asked in the words of the table. */
const ownScheduler: SchedulerKind<OwnScheduler> = {
  mode: ({ definition }) => definition.type,
  check({ definition, config }, members, refuse) {
    const invalid = (reason: string): never => refuse('invalidScheduler', reason, ['scheduler'])
    // A team that was written down and read again has lost its functions.
    if (typeof definition?.create !== 'function')
      invalid('a scheduler of type "own" is what defineScheduler makes')
    const { type } = definition
    if (!/^[a-z][a-z0-9_-]{0,63}$/.test(type))
      invalid(`"${type}" cannot be the type of a scheduler of one's own`)
    const wrong = definition.validate?.(config) ?? unwritable(config)
    if (wrong !== undefined) invalid(`${type}: ${wrong}`)
    for (const id of definition.members?.(config) ?? [])
      if (!members.has(id)) {
        const reason = `${type} names "${id}", which is not a member`
        refuse('notAMember', reason, ['scheduler', 'config'])
      }
  },
  first: ({ definition, config }) => definition.first?.(config),
  create({ definition, config }) {
    const scheduler = definition.create(config)
    return (run) => scheduler.schedule(new OwnRun(run))
  },
}

/** A team's configuration is written down with every run, so that a later start knows whether it is still the same. */
function unwritable(config: unknown): string | undefined {
  try {
    JSON.stringify(config)
    return undefined
  } catch (error) {
    return `its config is not plain data (${error instanceof Error ? error.message : error})`
  }
}

/**
 * A run as a user's scheduler sees it. Delegations and decisions are named by their number, and those of works that go
 * on at once by their place among them too, so that a run which is repeated finds them again.
 */
class OwnRun implements SchedulerRun {
  readonly #run: Run
  readonly #prefix: string
  #calls = 0

  constructor(run: Run, prefix = '') {
    this.#run = run
    this.#prefix = prefix
  }

  get message(): Message {
    return this.#run.memory.message
  }

  get members(): readonly TeamAgentConfig[] {
    return this.#run.config.agents
  }

  get signal(): AbortSignal {
    return this.#run.link.signal
  }

  info(agentId: string): Promise<AgentInfo> {
    return this.#run.manager.info(agentId)
  }

  async ask(
    agentId: string,
    message: Message | string | readonly Part[],
    { live, facesCaller, tolerant, ...rules }: AskOptions = {},
  ): Promise<MemberReply> {
    for (const id of [agentId, rules.fallbackAgentId ?? agentId]) this.#mustBeMember(id)
    return delegate(this.#run, {
      name: this.#next(),
      agentId,
      message: isMessage(message) ? message : toMember(this.#run, toParts(message)),
      rules,
      facesCaller,
      tolerant,
      ...(live && { live: 'now' }),
    })
  }

  all<T>(works: readonly ((run: SchedulerRun) => Promise<T>)[]): Promise<readonly T[]> {
    const name = this.#next()
    return delegateAll(
      this.#run,
      works.map((work, index) => (group) => work(new OwnRun(group, `${name}.${index + 1}.`))),
    )
  }

  decide<T extends Json>(make: () => Promise<T> | T): Promise<T> {
    return decide(this.#run, `${this.#next()}:decision`, make)
  }

  askUser(question: string | readonly Part[]): Message {
    return askUser(this.#run, this.#next(), toParts(question))
  }

  progress(text: string): Promise<void> {
    return this.#run.output.progress(text)
  }

  reply(content: string | readonly Part[]): MemberReply {
    return { state: 'TASK_STATE_COMPLETED', message: this.#run.turn.reply(toParts(content)) }
  }

  /** The registry may hold agents that this team must not reach. */
  #mustBeMember(id: string): void {
    if (!this.members.some(({ agentId }) => agentId === id))
      throw new A2AError('processingError', 'The scheduler has named an agent outside the team')
  }

  #next(): string {
    this.#calls++
    return `${this.#prefix}${this.#calls}`
  }
}

function isMessage(value: Message | string | readonly Part[]): value is Message {
  return typeof value === 'object' && 'parts' in value
}

function toParts(content: string | readonly Part[]): readonly Part[] {
  return typeof content === 'string' ? [{ text: content }] : content
}

/** Every way in which a team can work, by the type of its configuration. A type without its row does not compile. */
const kinds: {
  readonly [Type in TeamScheduler['type']]: SchedulerKind<Extract<TeamScheduler, { type: Type }>>
} = { supervisor, workflow, router, own: ownScheduler }

/** Whether a type is one of the table's own. */
export function isKind(type: string): type is TeamScheduler['type'] {
  return Object.hasOwn(kinds, type)
}

/** The row of a configuration with a type of the table. */
export function kindOf(scheduler: TeamScheduler): SchedulerKind<TeamScheduler> {
  return kinds[scheduler.type]
}

const named = Object.keys(kinds).filter((type) => type !== 'own')

/** The types that a configuration can name, for people: `a, b and c`. */
export const builtInTypes: string = `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`
