import { isPassing } from '../client/retry.ts'
import { type AddressGuard, createAllowList } from '../network/guard.ts'
import { isSemanticVersion } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { backoffMs, isAsyncIterable, retry, withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import type { Agent, AgentEvent, AgentInfo, AgentReply, Turn } from './agent.ts'
import {
  type AgentConfig,
  agentConfigOptions,
  type ConfigEnvironment,
  protocolOf,
  toA2AAgentConfig,
  toConfiguredInfo,
  toOpenAIAgentConfig,
  validateModuleAgentConfig,
} from './config.ts'
import { ConfigConversionError, invalidValue } from './config-checks.ts'
import { readGuards } from './guards/built-in.ts'
import type { GuardFunction, GuardRule, GuardSide, Guards, ModuleGuard } from './guards/guard.ts'
import { GuardFault, type ReadyGuards } from './guards/ready.ts'
import { askAgents, withGuards } from './guards/with-guards.ts'
import { createMcpToolSource } from './mcp.ts'
import { digestModules, loadModule, loadModuleAgent, loadToolModules } from './module.ts'
import { OpenAIAgent } from './openai/agent.ts'
import { toOutputRules, withOutputSchema } from './output/with-schema.ts'
import { A2AAgent } from './remote/agent.ts'
import { type Tool, withOwnNames } from './tools.ts'
import { WrappedTurn, wrapAgent } from './wrap.ts'

/** What agents made from a configuration get from around it. */
export interface AgentDeps {
  /** Where files of the configuration are looked for: the directory that it lies in. */
  readonly directory: string
  /**
   * The state of the modules' files, where modules are to be loaded anew with all that they import.
   * @internal
   */
  readonly moduleState?: string
  /** Variables that stand in for what the configuration leaves out. */
  readonly environment?: ConfigEnvironment
  /** Tools for every model of the configuration, beside its MCP servers. */
  readonly tools?: readonly Tool[]
  /** The agents of the same configuration, whom guards may ask for a verdict. */
  readonly agentOf?: (id: string) => Agent | undefined
  /** Where requests to the remote agent at this endpoint may go; as a client decides (`ClientOptions.reach`) if absent. */
  readonly reachOf?: (endpoint: string) => AddressGuard
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

const agentDeps: OptionTable<AgentDeps> = {
  directory: 'string!',
  moduleState: 'string',
  environment: 'object',
  tools: 'array',
  agentOf: 'function',
  reachOf: 'function',
  clock: 'object',
  random: 'function',
  log: 'object',
}

/** Makes an agent whose configuration has been checked. */
export type AgentPlan = (deps: AgentDeps) => Agent | Promise<Agent>

/**
 * Makes the agent of an `AgentConfig`. Remote agents and models are not contacted before they are needed, so one that
 * is down does not stop the start; a file that cannot be loaded does.
 *
 * @throws ConfigConversionError that names what is missing or wrong.
 */
export async function createAgentFromConfig(config: AgentConfig, deps: AgentDeps): Promise<Agent> {
  checkOptions('createAgentFromConfig', config, agentConfigOptions)
  checkOptions('createAgentFromConfig: the surroundings', deps, agentDeps)
  return planAgent(config, deps.environment)(deps)
}

/**
 * Checks what a configuration says of an agent, by the rules of its kind.
 *
 * @throws ConfigConversionError that names what is missing or wrong.
 */
export function planAgent(config: AgentConfig, environment?: ConfigEnvironment): AgentPlan {
  const plan = withVersion(config, withCodeDigest(config, planKind(config, environment)))
  const output = toOutputRules(config)
  const { id, guards } = config
  const checked: AgentPlan = output
    ? async (deps) => withOutputSchema(await plan(deps), output.schema, output)
    : plan
  if (!guards) return checked
  checkGuards(guards)
  return async (deps) => {
    const ready = await loadGuards(guards, deps)
    return withGuards(await checked(deps), {
      guards: ready,
      owner: { agent: id },
      askMember: askAgents(deps.agentOf ?? (() => undefined)),
    })
  }
}

/** The agent with the version that the configuration gives it, in its info too. */
function withVersion({ version }: AgentConfig, plan: AgentPlan): AgentPlan {
  if (version === undefined) return plan
  if (!isSemanticVersion(version))
    throw invalidValue('version', version, 'must be a semantic version such as 1.0.0')
  return async (deps) => {
    const agent = await plan(deps)
    const info = async (): Promise<AgentInfo> => {
      const { details, ...own } = await agent.info()
      return { ...own, details: { ...details, version } }
    }
    return wrapAgent(agent, { info, version })
  }
}

/** The agent with a digest of the files of code that its configuration names. */
function withCodeDigest(config: AgentConfig, plan: AgentPlan): AgentPlan {
  const files = moduleFilesOf(config)
  if (files.length === 0) return plan
  return async (deps) => {
    const digest = digestModules(files, deps.directory)
    const agent = await plan(deps)
    return wrapAgent(agent, { codeDigests: { ...agent.codeDigests, [config.id]: digest } })
  }
}

/** The files of code that an agent's configuration names, as it writes them: its own, its tools' and its guards'. */
export function moduleFilesOf(config: AgentConfig): readonly string[] {
  const { endpoint, tools = [], guards = {} } = config
  return [
    ...(protocolOf(config) === 'module' ? [endpoint] : []),
    ...tools.map(({ module }) => module),
    ...modulesOf(guards),
  ]
}

function planKind(config: AgentConfig, environment: ConfigEnvironment | undefined): AgentPlan {
  const protocol = protocolOf(config)
  if (protocol === 'module') {
    const limits = validateModuleAgentConfig(config)
    return async (deps) => {
      const agent = await loadModuleAgent(config, deps.directory, deps.moduleState)
      return withLimits(agent, { ...limits, ...around(deps) })
    }
  }
  if (protocol === 'a2a') {
    const remote = { ...toA2AAgentConfig(config), ...toConfiguredInfo(config) }
    return ({ reachOf, ...deps }) =>
      new A2AAgent({
        ...remote,
        ...around(deps),
        ...(reachOf && { reach: reachOf(config.endpoint) }),
      })
  }
  if (protocol === 'openai') {
    const model = { ...toOpenAIAgentConfig(config, environment), ...toConfiguredInfo(config) }
    const { mcpServers: servers = [], allowFiles: allow = [] } = config
    for (const entry of allow)
      try {
        createAllowList([entry])
      } catch {
        throw invalidValue('allow_files', entry, 'must be a host, host:port, a range or *')
      }
    return async (deps) => {
      const place = { directory: deps.directory, state: deps.moduleState }
      const own = await loadToolModules(config.tools ?? [], place)
      return new OpenAIAgent({
        ...model,
        ...around(deps),
        tools: withOwnNames([...own, ...(deps.tools ?? [])]),
        files: { allow },
        toolSources: servers.map((server) => createMcpToolSource(server, deps.log)),
      })
    }
  }
  throw invalidValue('protocol', config.protocol, 'must be a2a, openai or module')
}

type Surroundings = Pick<AgentDeps, 'clock' | 'random' | 'log'>

function around({ clock, random, log }: Surroundings): Surroundings {
  return { ...(clock && { clock }), ...(random && { random }), ...(log && { log }) }
}

/** How long an agent in this process may be silent, and how often it is asked again. */
type AgentLimits = Pick<AgentConfig, 'name' | 'timeoutSeconds' | 'maxRetries'> &
  Pick<AgentDeps, 'clock' | 'random'>

/**
 * The agent with limits that a remote one has by its connection. A refusal, a timeout and a cancel are not repeated. One
 * that is given up hears it by its turn's signal; one that does not listen is left behind.
 */
export function withLimits(agent: Agent, limits: AgentLimits): Agent {
  if (limits.timeoutSeconds === undefined && !limits.maxRetries) return agent
  return wrapAgent(agent, {
    process: (ask, _message, turn) => answerWithin(ask, turn, limits),
    // Requests that the agent answers by itself would go past its limits.
    dispatch: undefined,
  })
}

/** It is asked again until its first word, never after: what is said is said. */
async function* answerWithin(
  ask: (turn: Turn) => AgentReply,
  turn: Turn,
  limits: AgentLimits,
): AsyncGenerator<AgentEvent> {
  const { maxRetries = 0, clock = systemClock, random = Math.random } = limits
  const attempt = await retry(() => begin(ask, turn, limits), {
    tries: 1 + maxRetries,
    clock,
    signal: turn.signal,
    delay: (error, failures) =>
      mayPass(error) && !turn.signal.aborted
        ? backoffMs(failures, { baseMs: 500, random })
        : undefined,
  })
  let next = attempt.first
  try {
    while (!next.done) {
      yield next.value
      next = await attempt.next()
    }
  } finally {
    if (!next.done) attempt.leave()
  }
}

function mayPass(error: unknown): boolean {
  return !(error instanceof A2AError) || (isPassing(error) && error.code !== 'timeout')
}

/** One try of an agent, with the first thing that it said. */
interface Attempt {
  readonly first: IteratorResult<AgentEvent, unknown>
  /** What it says next. A failure is told to the agent by its signal. */
  next(): Promise<IteratorResult<AgentEvent, unknown>>
  /** Leaves it without a wait, also where it hangs. */
  leave(): void
}

async function begin(
  ask: (turn: Turn) => AgentReply,
  turn: Turn,
  limits: AgentLimits,
): Promise<Attempt> {
  const end = new AbortController()
  const signal = AbortSignal.any([turn.signal, end.signal])
  const reply = ask(new SignalTurn(turn, signal))
  // The contract's only iterable.
  const events = (isAsyncIterable(reply) ? (reply as AsyncIterable<AgentEvent>) : once(reply))[
    Symbol.asyncIterator
  ]()
  const leave = (): void => void Promise.resolve(events.return?.()).catch(() => {})
  const next = async (): Promise<IteratorResult<AgentEvent, unknown>> => {
    try {
      return await inTime(events.next(), turn.signal, limits)
    } catch (error) {
      end.abort(error)
      throw error
    }
  }
  try {
    return { first: await next(), next, leave }
  } catch (error) {
    leave()
    throw error
  }
}

/** The turn with another signal. */
class SignalTurn extends WrappedTurn {
  readonly #signal: AbortSignal

  constructor(turn: Turn, signal: AbortSignal) {
    super(turn)
    this.#signal = signal
  }

  override get signal(): AbortSignal {
    return this.#signal
  }
}

async function* once(
  reply: Exclude<AgentReply, AsyncIterable<unknown>>,
): AsyncGenerator<AgentEvent> {
  const answer = await reply
  if (answer !== undefined) yield answer
}

async function inTime<T>(
  work: Promise<T>,
  signal: AbortSignal,
  { timeoutSeconds, name, clock = systemClock }: AgentLimits,
): Promise<T> {
  if (timeoutSeconds === undefined) return withSignal(work, signal)
  const late = new AbortController()
  const stop = clock.after(timeoutSeconds * 1_000, () =>
    late.abort(new A2AError('timeout', `${name} did not answer in time`)),
  )
  try {
    return await withSignal(withSignal(work, late.signal), signal)
  } finally {
    stop()
  }
}

/** Where the files of a configuration lie. */
interface GuardFiles {
  readonly directory: string
  /** The state of the modules' files, where modules are to be loaded anew. */
  readonly moduleState?: string | undefined
}

/**
 * Checks the guards of an agent in a configuration; whom they ask is known to the whole of it only.
 * @throws ConfigConversionError that names the first one that cannot be.
 */
function checkGuards(guards: Guards): void {
  toReady(guards, true)
}

/** The guards of an agent in a configuration, ready for use. @throws ConfigConversionError */
async function loadGuards(guards: Guards, files: GuardFiles): Promise<ReadyGuards> {
  return toReady(await withModules(guards, files), false)
}

function toReady(guards: Guards, modulesLater: boolean): ReadyGuards {
  try {
    return readGuards(guards, { members: 'any', modulesLater })
  } catch (error) {
    if (!(error instanceof GuardFault)) throw error
    const { path, reason, hint } = error
    const field = ['guards', ...path].join('.')
    const fault = { variant: 'InvalidGuard', field, reason, ...(hint && { hint }) } as const
    throw new ConfigConversionError(fault, { cause: error })
  }
}

/** The same guards with the functions of their modules. @throws ConfigConversionError for one that cannot be loaded. */
export async function withModules(guards: Guards, files: GuardFiles): Promise<Guards> {
  if (modulesOf(guards).length === 0) return guards
  const list = async (side: GuardSide): Promise<readonly GuardRule[] | undefined> =>
    guards[side] &&
    Promise.all(
      guards[side].map(async (rule, index) =>
        isModule(rule)
          ? { ...rule, load: await loadGuard(rule, `guards.${side}.${index}`, files) }
          : rule,
      ),
    )
  const [input, output] = [await list('input'), await list('output')]
  return { ...(input && { input }), ...(output && { output }) }
}

/** The files that guards name. */
export function modulesOf({ input = [], output = [] }: Guards): readonly string[] {
  return [...input, ...output].filter(isModule).map(({ module }) => module)
}

function isModule(rule: GuardRule): rule is ModuleGuard {
  return typeof rule === 'object' && 'module' in rule
}

async function loadGuard(
  { module }: ModuleGuard,
  at: string,
  { directory, moduleState: state }: GuardFiles,
): Promise<GuardFunction> {
  const field = `${at}.module`
  const { default: found } = await loadModule({ file: module, field }, { directory, state })
  if (typeof found === 'function') return found as GuardFunction // its verdicts are checked
  throw new ConfigConversionError({
    variant: 'InvalidValue',
    field,
    value: module,
    reason:
      'its default export is no function; write: export default ({ text }) => ({ verdict: "allow" })',
  })
}
