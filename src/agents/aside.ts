import type { Message } from '../protocol/types.ts'
import type { Turn } from './agent.ts'
import { InnerTurn, type InnerTurnOptions } from './wrap.ts'

/** The turn of an agent that is asked something aside: it knows its own question only, and keeps its state apart. */
export class AsideTurn extends InnerTurn {
  readonly #signal: AbortSignal

  constructor(outer: Turn, options: InnerTurnOptions & { readonly signal: AbortSignal }) {
    super(outer, options)
    this.#signal = options.signal
  }

  override get signal(): AbortSignal {
    return this.#signal
  }
  override get task(): undefined {
    return undefined
  }
  override get history(): readonly Message[] {
    return []
  }
  override get extensions(): readonly string[] {
    return []
  }
  override get acceptedOutputModes(): readonly string[] {
    return []
  }
  override get metadata(): undefined {
    return undefined
  }
  override async conversation(): Promise<readonly Message[]> {
    return []
  }
}
