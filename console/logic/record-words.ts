import type { TaskRecord } from '../../src/console/api.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { JsonObject, StreamResponse } from '../../src/protocol/types.ts'
import { duration, firstWords, memberName, money, stateWord } from './words.ts'

/** A record, or a run of chunks of one artifact, in words. */
interface RecordLine {
  readonly record: TaskRecord
  /** The last record of the run. */
  readonly lastSeq: number
  readonly title: string
  readonly text: string
  readonly tone: 'good' | 'bad' | 'wait' | 'busy' | 'calm'
  /** The member it is about. */
  readonly member?: string
}

/** Every record in a line; chunks that follow each other share one. */
export function toLines(records: readonly TaskRecord[]): readonly RecordLine[] {
  const lines: RecordLine[] = []
  let run: { artifact: string; count: number; text: string } | undefined
  for (const record of records) {
    const chunk = chunkOf(record)
    const last = lines.at(-1)
    if (chunk && run && last && run.artifact === chunk.artifact) {
      run = {
        ...run,
        count: run.count + 1,
        text: run.text.length < 200 ? run.text + chunk.text : run.text,
      }
      const title = `${run.count} chunks of ${run.artifact}`
      lines[lines.length - 1] = {
        ...last,
        lastSeq: record.seq,
        title,
        text: firstWords(run.text, 120),
      }
      continue
    }
    run = chunk && { ...chunk, count: 1 }
    lines.push(toRecordLine(record))
  }
  return lines
}

/** One record in words. */
export function toRecordLine(record: TaskRecord): RecordLine {
  const about = { record, lastSeq: record.seq }
  switch (record.kind) {
    case 'event':
      return { ...about, ...wordsOfEvent(record.event) }
    case 'message':
      return { ...about, title: 'You said', text: textOf(record.message.parts), tone: 'calm' }
    case 'internal':
      return { ...about, title: record.name, text: JSON.stringify(record.data), tone: 'calm' }
    case 'trace':
      return { ...about, ...wordsOfEntry(record.entry) }
  }
}

type Words = Omit<RecordLine, 'record' | 'lastSeq'>

function wordsOfEvent(event: StreamResponse): Words {
  if ('task' in event)
    return {
      title: 'The task begins',
      text: textOf(event.task.history?.[0]?.parts ?? []),
      tone: 'calm',
    }
  if ('message' in event)
    return { title: 'Message', text: textOf(event.message.parts), tone: 'calm' }
  if ('artifactUpdate' in event) {
    const { artifact } = event.artifactUpdate
    return {
      title: `Artifact ${artifact.name ?? artifact.artifactId}`,
      text: textOf(artifact.parts),
      tone: 'good',
    }
  }
  const { state, message } = event.statusUpdate.status
  const { word, tone } = stateWord(state)
  return { title: `The task is ${word}`, text: message ? textOf(message.parts) : '', tone }
}

type EntryWords = (entry: JsonObject) => Words

/** What entries of the trace say; a type without a row shows its JSON. */
const entryWords: Readonly<Record<string, EntryWords>> = {
  delegation: (entry) => ({
    title: `${nameIn(entry)} is asked${Number(entry.try) > 1 ? `, try ${entry.try}` : ''}`,
    text: text(entry.text),
    tone: 'busy',
  }),
  reply: (entry) => ({
    title: `${nameIn(entry)} replied${took(entry)}${tokensIn(entry)}`,
    text: text(entry.text),
    tone: entry.state === 'TASK_STATE_INPUT_REQUIRED' ? 'wait' : 'good',
  }),
  failure: (entry) => ({
    title: `${nameIn(entry)} failed${took(entry)}`,
    text: text(entry.reason),
    tone: 'bad',
  }),
  retry: (entry) => ({
    title: `${nameIn(entry)} is tried again`,
    text: `try ${entry.try} after ${duration(Number(entry.delayMs) || 0)}`,
    tone: 'wait',
  }),
  fallback: (entry) => ({
    title: `${memberName(text(entry.to))} stands in for ${nameIn(entry)}`,
    text: '',
    tone: 'wait',
  }),
  decision: (entry) => ({
    title: `${nameIn(entry)} decides: ${list(entry.recipients)}`,
    text: text(entry.reason),
    tone: 'calm',
  }),
  approval: (entry) => ({ title: `You ${verdict(entry)}`, text: text(entry.text), tone: 'wait' }),
  branch: (entry) => ({
    title: `Step ${text(entry.step)} goes by ${entry.case ? `case ${entry.case}` : 'no case'}`,
    text: '',
    tone: 'calm',
  }),
  map: (entry) => ({
    title: `Step ${text(entry.step)} has ${Number(entry.items)} items`,
    text: '',
    tone: 'calm',
  }),
  guard: (entry) => ({
    title: `Guard ${text(entry.guard)} ${guardVerdict(entry)}`,
    text: text(entry.reason),
    tone: entry.verdict === 'block' ? 'bad' : entry.verdict === 'replace' ? 'wait' : 'calm',
  }),
  'tool-approval': (entry) => ({
    title: `You ${verdict(entry)} the tool ${text(entry.tool)}`,
    text: text(entry.arguments),
    tone: 'wait',
  }),
  'code-changed': (entry) => ({
    title: `The code of ${memberName(text(entry.agent))} has changed under the same version`,
    text: '',
    tone: 'wait',
  }),
  skip: (entry) => ({ title: `Step ${text(entry.step)} is left out`, text: '', tone: 'calm' }),
  tool: (entry) => ({
    title: `Tool ${text(entry.tool)}${took(entry)}`,
    text: `${text(entry.arguments)} → ${text(entry.result)}`,
    tone: entry.failed === true ? 'bad' : 'calm',
  }),
  model: (entry) => ({
    title: `Model ${text(entry.model)}${took(entry)}${tokensIn(entry)}`,
    text: text(entry.text),
    tone: 'calm',
  }),
}

function wordsOfEntry(entry: JsonObject): Words {
  const words = entryWords[text(entry.type)]?.(entry) ?? {
    title: text(entry.type) || 'Note',
    text: JSON.stringify(entry),
    tone: 'calm' as const,
  }
  const member = text(entry.member) || text(entry.agent)
  return member === '' ? words : { ...words, member }
}

function chunkOf(record: TaskRecord): { artifact: string; text: string } | undefined {
  if (record.kind !== 'event' || !('artifactUpdate' in record.event)) return undefined
  const { artifact } = record.event.artifactUpdate
  return { artifact: artifact.name ?? artifact.artifactId, text: textOf(artifact.parts) }
}

function nameIn({ member }: JsonObject): string {
  return memberName(text(member))
}

function took({ durationMs }: JsonObject): string {
  return typeof durationMs === 'number' ? ` after ${duration(durationMs)}` : ''
}

function tokensIn({ inputTokens, outputTokens, costUsd }: JsonObject): string {
  const cost = typeof costUsd === 'number' ? ` · ${money(costUsd)}` : ''
  if (typeof inputTokens !== 'number' && typeof outputTokens !== 'number') return cost
  return ` · ${Number(inputTokens ?? 0)} tokens in, ${Number(outputTokens ?? 0)} out${cost}`
}

function verdict({ verdict: word }: JsonObject): string {
  if (word === 'feedback') return 'gave feedback'
  return word === 'unclear' ? 'said neither yes nor no' : text(word)
}

function guardVerdict({ verdict: word }: JsonObject): string {
  if (word === 'block') return 'blocked'
  return word === 'replace' ? 'replaced something' : 'allowed it'
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.map((one) => memberName(String(one))).join(', ') : ''
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
