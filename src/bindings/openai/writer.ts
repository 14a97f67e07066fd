import type { Sequenced } from '../../protocol/call.ts'
import { toA2AError } from '../../protocol/errors.ts'
import type { Usage } from '../../protocol/usage.ts'
import type { EventWriter } from '../event-body.ts'
import { encodeFrame } from '../sse.ts'
import {
  type CompletionHead,
  toCallsChunk,
  toChunk,
  toLastChunk,
  toUsageChunk,
} from './completion.ts'
import { toOpenAIError } from './errors.ts'
import { createStopCutter } from './stop.ts'
import { createTextReader, type TextReader } from './text.ts'

/** What the chunks of one answer need. */
interface ChunkWriterOptions {
  readonly head: CompletionHead
  /** Whether the client asked for a last chunk with the usage. */
  readonly includeUsage: boolean
  /** The text ends before the first of these. */
  readonly stop: readonly string[]
  readonly usage: (reader: TextReader) => Usage
}

const done = 'data: [DONE]\n\n'

/** Writes an agent's events as chunks: the role first, then the text as it comes, then the end or the error. */
export function createChunkWriter(options: ChunkWriterOptions): EventWriter {
  const { head, includeUsage, usage, stop } = options
  const reader = createTextReader()
  const cutter = stop.length > 0 ? createStopCutter(stop) : undefined
  let begun = false

  function begin(): string {
    if (begun) return ''
    begun = true
    return frame(toChunk(head, { role: 'assistant', content: '' }))
  }
  function finish(): string {
    const fault = reader.fault()
    if (fault) return failed(fault)
    const calls = reader.toolCalls.length > 0 ? frame(toCallsChunk(head, reader)) : ''
    const last = includeUsage ? frame(toUsageChunk(head, usage(reader))) : ''
    return (
      chunkOf(head, cutter?.end() ?? '') + calls + frame(toLastChunk(head, reader)) + last + done
    )
  }
  function write(batch: readonly Sequenced[]): string {
    let text = ''
    for (const { event } of batch) text += reader.take(event)
    const told = cutter ? cutter.take(text) : text
    return begin() + chunkOf(head, told) + (reader.settled ? finish() : '')
  }

  return { write, fail: failed }
}

function chunkOf(head: CompletionHead, content: string): string {
  return content === '' ? '' : frame(toChunk(head, { content }))
}

function failed(thrown: unknown): string {
  return frame({ error: toOpenAIError(toA2AError(thrown)) })
}

function frame(value: object): string {
  return encodeFrame({ data: JSON.stringify(value) })
}
