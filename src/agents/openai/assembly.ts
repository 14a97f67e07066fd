import type { Usage } from '../../protocol/usage.ts'
import type { Account } from '../account.ts'
import type { ModelToolCall } from '../run-tool.ts'
import type { ChatDelta, ToolCallPiece } from './wire.ts'

/** What a model answered. */
export interface ChatAnswer {
  readonly text: string
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  /** The calls in the order of their indexes, their arguments whole. */
  toolCalls(): readonly ModelToolCall[]
}

/** Gathers the chunks of one answer. */
export interface Assembly extends ChatAnswer {
  add(delta: ChatDelta): void
}

/**
 * An empty assembly. A call without an id gets one, because its result must name it. What the answer used has its cost
 * where an account knows the price of the model that was asked.
 */
export function createAssembly(account?: Account, model?: string): Assembly {
  const calls = new Map<number, { id: string; name: string; arguments: string }>()
  const texts: string[] = []
  let finish: string | undefined
  let usage: Usage | undefined

  function addPiece(piece: ToolCallPiece): void {
    const call = calls.get(piece.index) ?? { id: '', name: '', arguments: '' }
    calls.set(piece.index, call)
    call.id ||= piece.id ?? ''
    call.name ||= piece.name ?? ''
    call.arguments += piece.arguments ?? ''
  }

  return {
    add(delta) {
      if (delta.text) texts.push(delta.text)
      for (const piece of delta.toolCalls ?? []) addPiece(piece)
      finish = delta.finish ?? finish
      if (delta.usage) usage = account ? account.price(delta.usage, model) : delta.usage
    },
    get text() {
      return texts.join('')
    },
    get finish() {
      return finish
    },
    get usage() {
      return usage
    },
    toolCalls: () =>
      [...calls]
        .sort(([a], [b]) => a - b)
        .map(([index, call]) => ({ ...call, id: call.id || `call_${index}` })),
  }
}
