import type { A2AClient, CallOptions } from '../client/index.ts'
import {
  type AgentCard,
  type Artifact,
  createFold,
  type Fold,
  type JsonObject,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskState,
  type TaskStatus,
  traceExtension,
  whyExtension,
} from '../index.ts'
import type { Explanation } from '../protocol/failure.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { isFields } from '../shared/json.ts'
import { toPrintableLine } from '../shared/text.ts'
import { dim, type Screen, stderr, stdout } from './screen.ts'
import { createProse } from './terminal/markdown.ts'
import { durationText, type Piece } from './terminal/text.ts'
import {
  declaresTrace,
  entryIn,
  entryKey,
  openMembers,
  TraceTree,
  textAt,
  toHappening,
  toTraceLines,
  toTree,
  traceOf,
} from './terminal/trace.ts'
import { clipPieces, pad, widthOf } from './terminal/width.ts'

/** How a transcript is shown. */
interface TranscriptOptions {
  /** Each event as a line of JSON instead. */
  readonly json?: boolean
  /** The task as it was before: what it said then is not said again. */
  readonly before?: Task | undefined
  /** Who is waited for; "waiting" if absent. */
  readonly name?: string
  /** Whether what happens inside the task is seen as a tree that grows, instead of line by line. */
  readonly asTree?: boolean
}

/**
 * Makes a transcript: the agent's words go to stdout, progress and state to stderr. On a terminal it shows what happens
 * inside the task, and that it waits.
 */
export function createTranscript(options: TranscriptOptions): Transcript {
  return options.json ? new Events() : new Conversation(options)
}

/** Shows what an agent says as it comes, and remembers where the conversation stands. */
export abstract class Transcript {
  #fold: Fold | undefined
  #lone: Message | undefined

  show(event: StreamResponse): void {
    if ('message' in event) this.#lone = event.message
    else if ('task' in event) this.#fold = createFold(event.task)
    else if (!entryOf(event)) this.#fold?.apply(event)
    this.write(event)
  }

  protected abstract write(event: StreamResponse): void

  /** Takes in what happened inside the task before it was watched. */
  recall(_entries: readonly JsonObject[]): void {}

  /** Ends the line that is open; nothing more is waited for. */
  end(): void {}

  /** The task as the events tell it; undefined if a message answered. */
  task(): Task | undefined {
    return this.#fold?.snapshot()
  }

  /** The context of the conversation, once it is known. */
  contextId(): string | undefined {
    return this.task()?.contextId ?? this.#lone?.contextId
  }
}

/** Each event as a line of JSON. */
class Events extends Transcript {
  protected write(event: StreamResponse): void {
    stdout.write(`${JSON.stringify(event)}\n`)
  }
}

/** What is said, for a person. */
class Conversation extends Transcript {
  readonly #prose = createProse(stdout)
  readonly #activity: Activity
  readonly #before: Task | undefined
  #artifactId: string | undefined

  constructor(options: TranscriptOptions) {
    super()
    this.#activity = new Activity(options)
    this.#before = options.before
  }

  override recall(entries: readonly JsonObject[]): void {
    this.#activity.recall(entries)
  }

  protected write(event: StreamResponse): void {
    const entry = entryOf(event)
    if (entry) this.#activity.happen(entry)
    else if ('message' in event) this.#say(toText(event.message))
    else if ('task' in event) this.#showTask(event.task)
    else if ('statusUpdate' in event) this.#showStatus(event.statusUpdate.status)
    else this.#showArtifact(event.artifactUpdate.artifact, event.artifactUpdate.append ?? false)
    if (!this.#prose.isOpen) this.#activity.tell()
  }

  override end(): void {
    this.#activity.stop()
    this.#endLine()
  }

  #say(text: string): void {
    if (text === '') return
    this.#activity.answer()
    this.#prose.write(text)
  }

  #endLine(): void {
    this.#prose.end()
    this.#activity.tell()
  }

  #note(text: string): void {
    // On a terminal with styles, notes wait until the agent has ended its line.
    if (!stdout.hasStyles) this.#endLine()
    this.#activity.note([dim(text)])
  }

  #showTask({ artifacts = [], status }: Task): void {
    for (const artifact of artifacts)
      if (!this.#isKnown(artifact)) this.#showArtifact(artifact, false)
    this.#showMessage(status)
  }

  #showStatus(status: TaskStatus): void {
    this.#showMessage(status)
    if (!/FAILED|REJECTED|CANCELED/.test(status.state)) return
    this.#endLine()
    this.#note(`[${stateName(status.state)}]`)
  }

  #showArtifact({ artifactId, parts }: Artifact, append: boolean): void {
    const isOther = artifactId !== this.#artifactId || !append
    if (this.#artifactId !== undefined && isOther) this.#endLine()
    this.#artifactId = artifactId
    this.#say(parts.map(partText).join(''))
  }

  #isKnown({ artifactId: id, parts }: Artifact): boolean {
    const known = this.#before?.artifacts?.find(({ artifactId }) => artifactId === id)
    return known?.parts.length === parts.length
  }

  #showMessage({ message, state }: TaskStatus): void {
    if (!message || message.messageId === this.#before?.status.message?.messageId) return
    const text = toText(message)
    if (state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED') {
      if (!this.#activity.hasSaid(text)) this.#note(text)
      return
    }
    this.#endLine()
    this.#say(text)
  }
}

/** An entry of the trace travels as a status that changes nothing. */
function entryOf(event: StreamResponse): JsonObject | undefined {
  return 'statusUpdate' in event ? entryIn(event.statusUpdate.metadata) : undefined
}

function toText({ parts }: Message): string {
  return parts.map(partText).join('')
}

/** What is said of a task beside its answer: where it stands, and how to go on with it. */
export function aboutTask({ id, contextId, status }: Task, url: string): string {
  const line = toPrintableLine(`task ${id} ${stateName(status.state)}, context ${contextId}`)
  if (status.state !== 'TASK_STATE_INPUT_REQUIRED') return line
  return `${line}\nAnswer it with: corral send ${url} "…" --task ${toPrintableLine(id)}`
}

/** 0 for a task that is well: done, under way, or waiting for an answer. */
export function exitCodeOfTask({ status: { state } }: Task): number {
  return /FAILED|REJECTED|CANCELED|AUTH_REQUIRED/.test(state) ? 1 : 0
}

/** Notes beyond this are not kept while a line is open. */
const mostNotes = 200

/** A team repeats what its member said as its own progress: it is recognized by how it begins. */
const beginning = 40

/** What is shown beside an answer while it comes: what happens inside the task, notes, and that it is waited for. */
class Activity {
  readonly #asTree: boolean
  readonly #tree = new TraceTree()
  readonly #known = new Set<string>()
  readonly #notes: (readonly Piece[])[] = []
  readonly #spinner: Spinner
  /** Once the answer has begun, its words are not shown again as those of a member. */
  #hasAnswered = false
  #said: readonly string[] = []

  /** On a terminal it starts a spinner, which `stop` ends. */
  constructor({ name, asTree = false }: TranscriptOptions) {
    this.#asTree = asTree
    const tree = this.#tree
    this.#spinner = startSpinner({
      screen: stderr,
      clock: systemClock,
      label: () => toPrintableLine(openMembers(tree).join(', ') || name || 'waiting'),
      ...(asTree && {
        above: () => toTraceLines(tree, { columns: stderr.columns, now: systemClock.now() }),
      }),
    })
  }

  /** Takes in what happened inside the task. */
  happen(entry: JsonObject): void {
    if (this.#known.delete(entryKey(entry))) return
    const node = this.#tree.add(entry)
    if (!stderr.isTTY) return
    if (textAt(entry, 'type') === 'reply')
      this.#said = [...this.#said.slice(-15), textAt(entry, 'text').slice(0, beginning)]
    const shown = this.#hasAnswered && node ? { ...node, words: '' } : node
    const line = toHappening(entry, shown, stderr.columns)
    if (line && !this.#asTree) this.note(line)
  }

  /** Takes in what happened before: it is not shown, and ignored if it comes again. */
  recall(entries: readonly JsonObject[]): void {
    for (const entry of entries) {
      this.#known.add(entryKey(entry))
      this.#tree.add(entry)
    }
  }

  note(line: readonly Piece[]): void {
    if (this.#notes.length < mostNotes) this.#notes.push(line)
  }

  /** Writes the notes, once no line is open. */
  tell(): void {
    for (const line of this.#notes.splice(0)) stderr.write(...line, '\n')
  }

  /** Whether a member has just said a text. */
  hasSaid(text: string): boolean {
    return this.#said.some((words) => words !== '' && text.includes(words))
  }

  /** Words of the answer are shown: the spinner is hidden for a moment. */
  answer(): void {
    this.#hasAnswered = true
    this.#spinner.rest()
  }

  stop(): void {
    this.#spinner.stop()
  }
}

/** Shows that something is under way while nothing else is seen. */
interface Spinner {
  /** Hides it for a moment, since something else was shown. */
  rest(): void
  /** Ends it, without a trace. */
  stop(): void
}

const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

const frameMs = 120

/** An answer that comes at once, or goes on, needs none. */
const quietMs = 300

/** Starts one on a screen where lines can be taken back, and does nothing on others. */
export function startSpinner({
  screen,
  clock,
  label,
  above,
}: {
  readonly screen: Screen
  readonly clock: Clock
  /** What is waited for. */
  label(): string
  /** Lines above it that change with time; none if absent. */
  above?(): readonly (readonly Piece[])[]
}): Spinner {
  if (!screen.isLively) return { rest: () => {}, stop: () => {} }
  const began = clock.elapsed()
  let quietSince = began
  let frame = 0
  let callOff = clock.after(frameMs, turn)

  function turn(): void {
    const now = clock.elapsed()
    if (now - quietSince >= quietMs) {
      const sign = frames.charAt(frame++ % frames.length)
      const text = `${sign} ${label()}  ${secondsText(now - began)}`
      const lines = [...(above?.() ?? []), [dim(text)]]
      screen.stand(...lines.map((line) => clipPieces(line, screen.columns - 1)))
    }
    callOff = clock.after(frameMs, turn)
  }

  return {
    rest() {
      quietSince = clock.elapsed()
    },
    stop() {
      callOff()
      screen.stand()
    },
  }
}

/** Whole seconds: tenths that run are restless. */
function secondsText(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : durationText(ms)
}

/** A part as text; files by their name and type. */
export function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data, null, 2)
  const name = part.filename ?? ('url' in part ? part.url : 'file')
  return toPrintableLine(`[${name}${part.mediaType ? `, ${part.mediaType}` : ''}]`)
}

/** A state as people write it: `completed`, `input-required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/** A task as a few lines. */
export function taskText(task: Task): string {
  const { id, contextId, status, artifacts = [], history = [] } = task
  const lines = [
    `task     ${toPrintableLine(id)}`,
    `context  ${toPrintableLine(contextId)}`,
    `state    ${stateName(status.state)}${status.timestamp ? ` since ${toPrintableLine(status.timestamp)}` : ''}`,
  ]
  if (status.message) lines.push(`says     ${status.message.parts.map(partText).join('')}`)
  for (const { role, parts } of history)
    lines.push('', `${role === 'ROLE_USER' ? 'user' : 'agent'}:`, parts.map(partText).join(''))
  for (const { name, artifactId, parts } of artifacts)
    lines.push('', `artifact ${toPrintableLine(name ?? artifactId)}:`, parts.map(partText).join(''))
  return lines.join('\n')
}

/** A card as a page. */
export function cardText(card: AgentCard): string {
  const { capabilities, securityRequirements = [] } = card
  const can = Object.entries(capabilities).flatMap(([name, value]) => (value === true ? name : []))
  const schemes = securityRequirements.map(({ schemes: all }) => Object.keys(all).join(' and '))
  const lines = [
    toPrintableLine(`${card.name} ${card.version}`),
    toParagraph(card.description),
    '',
    'Interfaces:',
    toColumns(
      card.supportedInterfaces.map(({ protocolBinding, protocolVersion, url }) => [
        ' ',
        url,
        protocolBinding,
        protocolVersion,
      ]),
    ),
    'Skills:',
    ...card.skills.map(
      ({ id, description }) => `  ${toPrintableLine(id)}: ${toParagraph(description)}`,
    ),
    toPrintableLine(`Can: ${can.join(', ') || 'answer'}`),
    toPrintableLine(
      `Takes: ${card.defaultInputModes.join(', ')}; gives: ${card.defaultOutputModes.join(', ')}`,
    ),
    toPrintableLine(`Asks for: ${schemes.join(', or ') || 'no credentials'}`),
  ]
  return lines.join('\n')
}

/** Lines of others below a first one: they stand further in, so that none can pass for ours. */
function toParagraph(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** A longer cell is not waited for: its row runs over, and the others stay as they are. */
const widest = 100

/** Rows as aligned columns; each cell stays on its line. */
export function toColumns(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(toPrintableLine))
  const widths = (cells[0] ?? []).map((_, i) =>
    cells.reduce((width, row) => Math.min(Math.max(width, widthOf(row[i] ?? '')), widest), 0),
  )
  return cells
    .map((row) => row.map((cell, i) => pad(cell, widths[i] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

/** What a call needs so that its answer shows what happened inside the task; nothing where the agent has no trace. */
export type Tracing = Pick<CallOptions, 'extensions'>

/** Asks the card whether the agent has a trace. */
export async function tracingOf(client: A2AClient, wanted: boolean): Promise<Tracing> {
  if (!wanted || !declaresTrace(await client.fetchAgentCard())) return {}
  return { extensions: [traceExtension] }
}

/** Writes the trace of a task as a tree. */
export function writeTrace(screen: Screen, task: Pick<Task, 'metadata'>): void {
  const tree = toTree(traceOf(task))
  if (tree.nodes.length === 0) {
    screen.write(dim('There is no trace: nothing was delegated, or the agent shows none.'), '\n')
    writeWhy(screen, whyOf(task))
    return
  }
  const view = { columns: screen.columns, now: systemClock.now() }
  for (const line of toTraceLines(tree, view)) screen.write(...line, '\n')
  writeWhy(screen, whyOf(task))
}

/** What failed in a task, as the server explains it to operators; empty where it does not. */
export function whyOf({ metadata }: Pick<Task, 'metadata'>): readonly Explanation[] {
  const list = metadata?.[whyExtension]
  return Array.isArray(list) ? list.filter(isExplanation) : []
}

/** Whether a value is an explanation, as a server sends it. */
export function isExplanation(value: unknown): value is Explanation {
  if (!isFields(value)) return false
  const texts = [value.what, value.member, value.remedy, value.link]
  const isList = Array.isArray(value.words) && value.words.every((one) => typeof one === 'string')
  return isList && texts.every((one) => typeof one === 'string')
}

/** Writes what failed, which member and attempt, what was answered, and what to do. */
export function writeWhy(screen: Screen, why: readonly Explanation[]): void {
  for (const { what, member, team, attempt, continued, words, remedy, link } of why) {
    const of = team ? ` of team ${team}` : ''
    const after = continued ? '; the task continued' : ''
    screen.write(toPrintableLine(what), '\n')
    const rows = [
      ['who', `${member}${of}, attempt ${attempt}${after}`],
      ...words.map((one, i) => [i === 0 ? 'said' : '', one]),
      ['do', remedy],
      ['see', link],
    ]
    for (const [label = '', text = ''] of rows)
      screen.write(dim(`  ${label.padEnd(6)}`), `${toPrintableLine(text)}\n`)
  }
}
