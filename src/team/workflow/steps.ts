import type { Agent } from '../../agents/agent.ts'
import { withOutputSchema } from '../../agents/output/with-schema.ts'
import { toDataSchema } from '../../agents/schema.ts'
import { type ApprovalVerdict, askedAgain, readVerdict, verdictNames } from '../../agents/tools.ts'
import type { Json, Message, Part } from '../../protocol/types.ts'
import type { AskRules, Step } from '../config.ts'
import { delegate, delegateAll } from '../delegate.ts'
import { clip, replyParts, toStepResult } from '../reply.ts'
import {
  type ApprovalRules,
  answered,
  askUser,
  type Delegation,
  Feedback,
  Refusal,
  type Run,
  toMember,
  traceOnce,
  traceRun,
} from '../run.ts'
import { inBatches, toItems } from '../schedulers/kind.ts'
import type { CallRules, MemberReply } from '../schedulers/scheduler.ts'
import { type ReadyRule, type RuleSite, readContent, withFeedback } from './rules.ts'

/** Where in the workflow a step stands. */
export interface StepPlace {
  readonly run: Run
  /** Unique within the run: `2`, `3.1`, `4#2.1`, `5[3].1`; the second pass of a list, after feedback, is `2@2`. */
  readonly name: string
  readonly input: Message
  /** The previous answer; none before the first step. */
  readonly previous: MemberReply | undefined
  /** Whether nothing follows, so that the member's words are the team's answer. */
  readonly last: boolean
  readonly known: Known
}

/** What the rules of a step see besides the question and the answer before it. */
interface Known {
  readonly results: Results
  /** What the user said to an approval; empty otherwise. */
  readonly feedback: string
  /** Feedback that no member has had yet. */
  readonly untold: string
  /** The item of the map around the step: several go on at once, and members see nothing of the others. */
  readonly item?: Json
  /** The round of the loop around the step. */
  readonly round?: number
}

/** The answer of a step; undefined when it was left out. */
type StepAnswer = Promise<MemberReply | undefined>

/** Runs steps one after another: the answer of each is what the next one gets. */
export function runList(steps: readonly PlannedStep[], start: StepPlace): StepAnswer {
  return new ListRun(steps, start).run()
}

/** Where a list was before a step that feedback may go to. */
interface BeforeStep {
  readonly index: number
  readonly input: StepPlace['input']
  readonly previous: MemberReply | undefined
}

/** One run through a list. Feedback goes back in it as often as the approval allows; each pass has names of its own. */
class ListRun {
  readonly #steps: readonly PlannedStep[]
  readonly #start: StepPlace
  #input: StepPlace['input']
  #previous: MemberReply | undefined
  #known: Known
  #pass = 1
  #before: Map<string, BeforeStep> | undefined
  #rounds: Map<ApprovalRules, number> | undefined

  constructor(steps: readonly PlannedStep[], start: StepPlace) {
    this.#steps = steps
    this.#start = start
    this.#input = start.input
    this.#previous = start.previous
    this.#known = start.known
  }

  async run(): StepAnswer {
    let target = -1
    for (let index = 0; index < this.#steps.length; index++) {
      const step = this.#steps[index]
      if (!step) break
      try {
        const answer = await step.run(this.#enter(step, index), index === target)
        if (answer) this.#follow(answer)
        if (answer || index === target) this.#dropFeedback()
        target = -1
      } catch (thrown) {
        target = this.#goBack(thrown)
        index = target - 1
      }
    }
    return this.#previous === this.#start.previous ? undefined : this.#previous
  }

  #enter(step: PlannedStep, index: number): StepPlace {
    const { run, name, last } = this.#start
    const input = this.#input
    const previous = this.#previous
    if (step.name !== undefined) {
      this.#before ??= new Map()
      this.#before.set(step.name, { index, input, previous })
    }
    return {
      run,
      name: this.#pass === 1 ? `${name}${index + 1}` : `${name}${index + 1}@${this.#pass}`,
      input,
      previous,
      last: last && index === this.#steps.length - 1,
      known: this.#known,
    }
  }

  #follow(answer: MemberReply): void {
    this.#previous = answer
    this.#input = toMember(this.#start.run, replyParts(answer))
  }

  /** The step that feedback went to has it; those after it go on without. */
  #dropFeedback(): void {
    const { known } = this.#start
    if (this.#known.untold === '' && this.#known.feedback === known.feedback) return
    this.#known = known.untold === '' ? known : { ...known, untold: '' }
  }

  /** Goes back to the step that feedback goes to, where it is one of this list, and gives its index. */
  #goBack(thrown: unknown): number {
    if (!(thrown instanceof Feedback)) throw thrown
    const { approval, text } = thrown
    const before = this.#before?.get(approval.target ?? '')
    if (!before) throw thrown
    this.#rounds ??= new Map()
    const round = (this.#rounds.get(approval) ?? 0) + 1
    const { maxRounds } = approval
    if (round > maxRounds) {
      const times = maxRounds === 1 ? 'one round' : `${maxRounds} rounds`
      throw new Refusal(`The user did not approve after ${times} of feedback`)
    }
    this.#rounds.set(approval, round)
    this.#pass++
    this.#input = before.input
    this.#previous = before.previous
    this.#known = { ...this.#start.known, feedback: text, untold: text }
    return before.index
  }
}

/** What a step does at a place once its rules let it run. */
export type PlannedWork = (place: StepPlace) => StepAnswer

/** A step that is ready to run: its rules are read, its steps within are planned. */
export class PlannedStep {
  readonly name: string | undefined
  /** The member that it asks, where it asks one. */
  readonly #agentId: string | undefined
  /** Whether it runs at a place; absent where it always does. */
  readonly #applies: ReadyRule<boolean> | undefined
  readonly #work: PlannedWork

  constructor(step: Step, applies: ReadyRule<boolean> | undefined, work: PlannedWork) {
    this.name = step.name
    this.#agentId = 'agentId' in step ? step.agentId : undefined
    this.#applies = applies
    this.#work = work
  }

  /** What its answer stands under beside those of parallel steps. */
  title(run: Run): string {
    return this.#agentId === undefined ? (this.name ?? 'Result') : memberTitle(run, this.#agentId)
  }

  /** Runs it, unless its rules leave it out; one that feedback goes to runs whatever they say. */
  run(place: StepPlace, always = false): StepAnswer {
    // Most steps say no more than who answers, and a promise is not free.
    if (this.#applies === undefined && this.name === undefined) return this.#work(place)
    return this.#runWithRules(place, always)
  }

  async #runWithRules(place: StepPlace, always: boolean): StepAnswer {
    if (this.#applies && !always) {
      const applies = this.#applies(place)
      if (!(typeof applies === 'boolean' ? applies : await applies)) {
        const { run, name } = place
        traceOnce(run, `${name}?skip`, { type: 'skip', team: run.config.id, step: name })
        return undefined
      }
    }
    const answer = await this.#work(place)
    if (answer && this.name !== undefined) place.known.results.set(this.name, answer)
    return answer
  }
}

/** A member as a step asks it. */
interface MemberAsk {
  readonly agentId: string
  /** Asks it at a place. */
  ask(place: StepPlace, more: CallDetails): Promise<MemberReply>
}

/** What differs from call to call. */
type CallDetails = Pick<Delegation, 'facesCaller' | 'alone' | 'live'>

/** A member answers. The last step's words go to the caller as they come, those of earlier ones as status texts. */
export async function runAgent(call: MemberAsk, place: StepPlace): StepAnswer {
  const { run, name, previous, last, known } = place
  const alone = known.item !== undefined
  const facesCaller = previous === undefined
  const reply = await call.ask(
    place,
    last ? { facesCaller, alone, live: 'now' } : { facesCaller, alone },
  )
  if (!last && run.memory.isFresh(`${name}:${call.agentId}`)) await report(run, call.agentId, reply)
  return reply
}

async function report(run: Run, agentId: string, reply: MemberReply): Promise<void> {
  const words = clip(replyParts(reply), 200)
  await run.output.progress(`${memberTitle(run, agentId)}: ${words}`)
}

/** What a member's answer stands under. */
function memberTitle({ config }: Run, id: string): string {
  const member = config.agents.find(({ agentId }) => agentId === id)
  return member?.role || id
}

/** Reads what a step asks of a member. */
export function planCall(
  call: CallRules & AskRules & { readonly agentId: string },
  site: Omit<RuleSite, 'key'>,
): MemberAsk {
  const { agentId } = call
  const wrap = wrapperOf(call)
  const path = [...site.path, 'input']
  const input =
    call.input === undefined ? undefined : readContent(call.input, { ...site, key: 'input', path })

  /** Written out: one is made per step, and a spread costs more than all else about it. */
  function send(
    { run, name }: StepPlace,
    more: CallDetails,
    message: Message,
  ): Promise<MemberReply> {
    const { facesCaller, alone, live } = more
    return delegate(run, {
      name,
      agentId,
      message,
      rules: call,
      facesCaller,
      alone,
      live,
      wrap,
    })
  }

  return {
    agentId,
    ask(place, more) {
      if (!input) return send(place, more, heard(place))
      return written(input, place).then((message) => send(place, more, message))
    },
  }
}

/** What a step asks of the answer stands around the member, which is wrapped once. */
function wrapperOf(rules: AskRules): Delegation['wrap'] {
  const { outputSchema, jsonSchema, maxOutputRetries } = rules
  if (outputSchema === undefined) return undefined
  const schema = toDataSchema(outputSchema, { at: 'outputSchema', jsonSchema })
  const wrapped = new WeakMap<Agent, Agent>()
  return (agent) => {
    const known = wrapped.get(agent)
    if (known) return known
    const made = withOutputSchema(agent, schema, { maxOutputRetries })
    wrapped.set(agent, made)
    return made
  }
}

/** The answer before it, as it is. */
function heard(place: StepPlace): Message {
  const { input, run } = place
  return place.known.untold === '' ? input : toMember(run, withFeedback(input.parts, place))
}

async function written(input: ReadyRule<readonly Part[]>, place: StepPlace): Promise<Message> {
  return toMember(place.run, await input(place))
}

/** What is done for each item of a list. */
export interface PlannedMap {
  readonly each: MemberAsk | readonly PlannedStep[]
  /** The list; what the previous answer holds as one if absent. */
  readonly over: ReadyRule<readonly Json[]> | undefined
  readonly maxItems: number
  readonly maxParallel: number
  /** Whether answers that are all data make one list of them. */
  readonly givesList: boolean
}

/**
 * Only a clear yes goes on with the answer so far and a clear no ends the run. Anything else goes as feedback to the step
 * that the approval names, where it names one and something is said; else the user is asked again.
 */
export async function runApproval(approval: ApprovalRules, place: StepPlace): StepAnswer {
  const { run, name, input, previous } = place
  const question = toQuestion(input.parts, approval.question)
  for (let round = 1; ; round++) {
    const asked = round === 1 ? question : [{ text: askedAgain }, ...question]
    const here = round === 1 ? name : `${name}~${round}`
    const { parts } = askUser(run, here, asked)
    const verdict = verdictOf(parts, approval)
    if (run.memory.isFresh(`${here}:user`)) traceApproval(run, name, { verdict, parts })
    if (verdict === 'no') throw new Refusal()
    if (verdict === 'yes') return previous ?? answered(run, input.parts)
    if (verdict === 'feedback') throw new Feedback(approval, toStepResult(parts).text)
  }
}

/** How much of an answer a question shows: characters of text and data, and bytes of files in base64. */
const maxShown = 20_000

const maxFileBytes = 1_000_000

/**
 * The question of an approval: the answer so far, then what is asked. What is long is cut, and what is left out is named,
 * so that the user does not take the part for the whole.
 */
export function toQuestion(answer: readonly Part[], question: string): readonly Part[] {
  let [characters, bytes] = [maxShown, maxFileBytes]
  const shown = answer.map((part): Part => {
    if ('text' in part) {
      const left = part.text.length - characters
      const text = left > 0 ? `${part.text.slice(0, characters)}${leftOut(left)}` : part.text
      characters = Math.max(characters - part.text.length, 0)
      return text === part.text ? part : { ...part, text }
    }
    if ('url' in part) return part
    const size = 'raw' in part ? part.raw.length : JSON.stringify(part.data).length
    if (size > ('raw' in part ? bytes : characters)) return { text: leftOut(size, nameOf(part)) }
    if ('raw' in part) bytes -= size
    else characters -= size
    return part
  })
  return [...shown, { text: `\n\n${question}` }]
}

function leftOut(size: number, what = 'text'): string {
  return `\n[… ${size} characters of ${what} are not shown]`
}

function nameOf(part: Part): string {
  return part.filename ?? ('data' in part ? 'data' : 'a file')
}

type Verdict = ApprovalVerdict | 'feedback'

function verdictOf(parts: readonly Part[], { target }: ApprovalRules): Verdict {
  const verdict = readVerdict(parts)
  if (verdict !== 'unclear' || target === undefined) return verdict
  return toStepResult(parts).text.trim() === '' ? 'unclear' : 'feedback'
}

const verdicts = { ...verdictNames, feedback: 'feedback' } as const

function traceApproval(
  run: Run,
  step: string,
  { verdict, parts }: { readonly verdict: Verdict; readonly parts: readonly Part[] },
): void {
  const team = run.config.id
  traceRun(run, { type: 'approval', team, step, verdict: verdicts[verdict], text: clip(parts) })
}

/** One way of a branch. */
interface PlannedCase {
  /** Absent where it runs otherwise. */
  readonly when: ReadyRule<boolean> | undefined
  readonly steps: readonly PlannedStep[]
}

/** Runs the steps of the first case of which `when` holds. */
export async function runBranch(cases: readonly PlannedCase[], place: StepPlace): StepAnswer {
  const { run, name: step } = place
  const team = run.config.id
  for (const [index, { when, steps }] of cases.entries()) {
    if (when && !(await when(place))) continue
    traceOnce(run, `${step}?branch`, { type: 'branch', team, step, case: index + 1 })
    return runList(steps, { ...place, name: `${step}.${index + 1}.` })
  }
  traceOnce(run, `${step}?branch`, { type: 'skip', team, step })
  return undefined
}

/** What is repeated, and until when. */
interface PlannedLoop {
  readonly steps: readonly PlannedStep[]
  readonly until: ReadyRule<boolean>
  readonly maxIterations: number
}

/** Steps are repeated, each round with the answer of the one before it. */
export async function runLoop(loop: PlannedLoop, place: StepPlace): StepAnswer {
  let here: StepPlace = { ...place, last: false }
  for (let round = 1; round <= loop.maxIterations; round++) {
    const { run, known } = here
    const name = `${place.name}#${round}`
    here = { ...here, known: { ...known, round, untold: round === 1 ? known.untold : '' } }
    const answer = await runList(loop.steps, { ...here, name: `${name}.` })
    if (!answer) break
    here = { ...here, previous: answer, input: toMember(run, replyParts(answer)) }
    const isOver = loop.until({ ...here, name })
    if (typeof isOver === 'boolean' ? isOver : await isOver) break
  }
  return here.previous === place.previous ? undefined : here.previous
}

/** A member, or steps, answer once per item; the answers keep the items' order. */
export async function runMap(map: PlannedMap, place: StepPlace): StepAnswer {
  const { run } = place
  const list = map.over ? [{ data: await map.over(place) }] : place.input.parts
  const items = toItems(list, map.maxItems)
  const step = place.name
  traceOnce(run, `${step}?map`, { type: 'map', team: run.config.id, step, items: items.length })
  const works = items.map(
    (item, index) => (group: Run) =>
      runItem(map.each, item, { ...place, run: group, name: `${place.name}[${index + 1}]` }),
  )
  const replies = (await inBatches(run, works, map.maxParallel)).flatMap((reply) => reply ?? [])
  const data = map.givesList ? dataList(replies) : undefined
  if (data) return answered(run, [{ data, mediaType: 'application/json' }])
  const parts = replies.flatMap((reply) => [...replyParts(reply), { text: '\n' }])
  return answered(run, parts.slice(0, -1))
}

async function runItem(each: PlannedMap['each'], part: Part, place: StepPlace): StepAnswer {
  const { run } = place
  const item = 'data' in part ? part.data : 'text' in part ? part.text : null
  const known = { ...place.known, item, results: new Results(place.known.results) }
  const here = { ...place, input: toMember(run, [part]), last: false, known }
  if ('ask' in each) return each.ask(here, { alone: true })
  // The item stands where an answer would: the member that gets it does not speak with the caller.
  const previous = answered(run, [part])
  const answer = await runList(each, { ...here, name: `${place.name}.`, previous })
  return answer ?? previous
}

function dataList(replies: readonly MemberReply[]): Json | undefined {
  const list: Json[] = []
  for (const reply of replies) {
    const { data } = toStepResult(replyParts(reply))
    if (data === undefined) return undefined
    list.push(data)
  }
  return list
}

/** Makes one answer of the answers of parallel steps, which stand under headings where it begins. */
export type PlannedJoin = PlannedWork

/** Several steps get the same question at once. */
export async function runParallel(
  branches: readonly PlannedStep[],
  join: PlannedJoin | undefined,
  place: StepPlace,
): StepAnswer {
  const works = branches.map(
    (branch, index) => (run: Run) => runParallelBranch(branch, index, { ...place, run }),
  )
  const ended = await delegateAll(place.run, works)
  const parts: Part[] = []
  for (const { title, reply, results } of ended) {
    place.known.results.takeFrom(results)
    if (reply) parts.push({ text: `${title}:\n` }, ...replyParts(reply), { text: '\n\n' })
  }
  if (parts.length === 0) return undefined
  const { run } = place
  const previous = answered(run, parts.slice(0, -1))
  if (!join) return previous
  const input = toMember(run, replyParts(previous))
  const known = { ...place.known, untold: '' }
  return join({ ...place, name: `${place.name}.join`, input, previous, known })
}

interface EndedBranch {
  readonly title: string
  readonly reply: MemberReply | undefined
  readonly results: Results
}

async function runParallelBranch(
  branch: PlannedStep,
  index: number,
  place: StepPlace,
): Promise<EndedBranch> {
  const { run, known } = place
  const results = new Results(known.results)
  const name = `${place.name}.${index + 1}`
  const reply = await branch.run({ ...place, name, last: false, known: { ...known, results } })
  return { title: branch.title(run), reply, results }
}

/**
 * What named steps gave last. Steps that go on at once have one each around the one that they share, so that what they see
 * does not depend on who is faster.
 */
export class Results {
  readonly #outer: Results | undefined
  #own: Map<string, MemberReply> | undefined

  constructor(outer?: Results) {
    this.#outer = outer
  }

  get(name: string): MemberReply | undefined {
    return this.#own?.get(name) ?? this.#outer?.get(name)
  }

  set(name: string, reply: MemberReply): void {
    this.#own ??= new Map()
    this.#own.set(name, reply)
  }

  /** Takes over what steps gave that have ended. */
  takeFrom(inner: Results): void {
    if (inner.#own) for (const [name, reply] of inner.#own) this.set(name, reply)
  }
}
