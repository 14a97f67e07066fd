/** Who waits, by the two keys of fairness. */
export interface InLine {
  readonly principal: string
  readonly contextId: string
}

/**
 * Lines of those who wait. Whoever is next goes round the principals, and within a principal round its contexts; within
 * a context the order is that of arrival.
 */
export class FairLines<T extends InLine> {
  /** A Map keeps its order, so taking from the front and putting back goes round. */
  readonly #lines = new Map<string, Map<string, T[]>>()

  add(one: T): void {
    const { principal, contextId } = one
    const contexts = this.#lines.get(principal) ?? new Map<string, T[]>()
    this.#lines.set(principal, contexts)
    const line = contexts.get(contextId)
    if (line) line.push(one)
    else contexts.set(contextId, [one])
  }

  /** Nothing is kept of one who leaves, however long the others wait. */
  remove(gone: T): void {
    const { principal, contextId } = gone
    const contexts = this.#lines.get(principal)
    const line = contexts?.get(contextId)?.filter((one) => one !== gone)
    if (!contexts || !line) return
    if (line.length > 0) contexts.set(contextId, line)
    else contexts.delete(contextId)
    if (contexts.size === 0) this.#lines.delete(principal)
  }

  /** Takes out the next of a principal that may go. */
  take(mayGo: (principal: string) => boolean): T | undefined {
    for (const [principal, contexts] of this.#lines)
      if (mayGo(principal)) return this.#takeOf(principal, contexts)
    return undefined
  }

  #takeOf(principal: string, contexts: Map<string, T[]>): T | undefined {
    for (const [contextId, line] of contexts) {
      const one = line.shift()
      contexts.delete(contextId)
      if (line.length > 0) contexts.set(contextId, line)
      this.#lines.delete(principal)
      if (contexts.size > 0) this.#lines.set(principal, contexts)
      return one
    }
    return undefined
  }
}
