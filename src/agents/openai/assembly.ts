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
  return new ChatAssembly(account, model)
}

/** A class, not closures: one is made per answer. */
class ChatAssembly implements Assembly {
  readonly #account: Account | undefined
  readonly #model: string | undefined
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>()
  readonly #texts: string[] = []
  #finish: string | undefined
  #usage: Usage | undefined

  constructor(account: Account | undefined, model: string | undefined) {
    this.#account = account
    this.#model = model
  }

  get text(): string {
    return this.#texts.join('')
  }

  get finish(): string | undefined {
    return this.#finish
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  add({ text, toolCalls, finish, usage }: ChatDelta): void {
    if (text) this.#texts.push(text)
    for (const piece of toolCalls ?? []) this.#addPiece(piece)
    this.#finish = finish ?? this.#finish
    if (usage) this.#usage = this.#account ? this.#account.price(usage, this.#model) : usage
  }

  toolCalls(): readonly ModelToolCall[] {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([index, call]) => ({ ...call, id: call.id || `call_${index}` }))
  }

  #addPiece(piece: ToolCallPiece): void {
    const call = this.#calls.get(piece.index) ?? { id: '', name: '', arguments: '' }
    this.#calls.set(piece.index, call)
    call.id ||= piece.id ?? ''
    call.name ||= piece.name ?? ''
    call.arguments += piece.arguments ?? ''
  }
}
