import type { LookupFunction } from 'node:net'

/** A resolver that knows what it is told, and counts what it is asked. */
export interface FakeResolver {
  readonly lookup: LookupFunction
  /** The names that were asked for, in order. */
  readonly asked: string[]
}

/** What a name has, answer by answer; the last one stays. A name that is not there is not found. */
type Answers = Readonly<Record<string, readonly (readonly string[])[]>>

/** Makes a resolver. The name `*` answers for all others. */
export function createResolver(answers: Answers): FakeResolver {
  const asked: string[] = []
  const lookup: LookupFunction = (host, { all }, callback) => {
    const known = answers[host] ?? answers['*'] ?? []
    const turn = asked.filter((name) => name === host).length
    asked.push(host)
    const found = (known[turn] ?? known.at(-1) ?? []).map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }))
    const [first] = found
    if (!first) callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), '', 0)
    else if (all) callback(null, found)
    else callback(null, first.address, first.family)
  }
  return { lookup, asked }
}
