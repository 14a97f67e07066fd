import { isFields } from '../../shared/json.ts'
import { nearest } from '../../shared/nearest.ts'
import { makeBuiltIn } from './built-in.ts'
import type { GuardFunction, GuardSide } from './guard.ts'
import { GuardFault, type ReadyGuard, type ReadyGuards } from './ready.ts'
import type { RefuseSetting } from './settings.ts'

/** Where guards stand. */
interface GuardsPlace {
  /** Who can be asked for a verdict; nobody where this is absent. */
  readonly members?: readonly string[] | 'any'
  /** Whether files of modules are yet to be loaded, so that what they hold is not known. */
  readonly modulesLater?: boolean
}

/** None on either side. */
const noGuards: ReadyGuards = { input: [], output: [] }

/**
 * Makes guards ready for use, whoever wrote them.
 * @throws GuardFault that names the first one that cannot be, and what was probably meant.
 */
export function readGuards(guards: unknown, place: GuardsPlace = {}): ReadyGuards {
  if (guards === undefined) return noGuards
  if (!isFields(guards)) throw new GuardFault([], 'must have input, output or both')
  for (const key of Object.keys(guards))
    if (!sides.includes(key)) {
      const meant = nearest(key, sides)
      const hint = meant ? `did you mean ${meant}?` : 'known: input, output'
      throw new GuardFault([key], 'is no side of an agent', { hint })
    }
  return {
    input: readList(guards.input, 'input', place),
    output: readList(guards.output, 'output', place),
  }
}

const sides: readonly string[] = ['input', 'output'] satisfies readonly GuardSide[]

/** More than anybody needs, and few enough to run for every message. */
const maxGuards = 20

function readList(list: unknown, side: GuardSide, place: GuardsPlace): readonly ReadyGuard[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) throw new GuardFault([side], 'must be a list of guards')
  if (list.length > maxGuards) throw new GuardFault([side], `has more than ${maxGuards} guards`)
  return list.map((rule, index) => readRule(rule, place, refuseAt(side, index, rule)))
}

function refuseAt(side: GuardSide, index: number, rule: unknown): RefuseSetting {
  return (key, reason, { path = [], ...detail } = {}) => {
    // A guard that is a name alone has no keys to point at.
    const inner = key !== undefined && isFields(rule) ? [key, ...path] : []
    throw new GuardFault([side, index, ...inner], reason, detail)
  }
}

const kinds = ['use', 'member', 'module'] as const

function readRule(rule: unknown, place: GuardsPlace, refuse: RefuseSetting): ReadyGuard {
  if (typeof rule === 'string') return makeBuiltIn(rule, {}, refuse)
  if (typeof rule === 'function')
    return { kind: 'own', name: rule.name || 'function', judge: rule as GuardFunction } // its verdicts are checked
  const what = 'a name, a function, or a table with use, member or module'
  if (!isFields(rule)) return refuse(undefined, `must be ${what}`)
  const said = kinds.filter((kind) => rule[kind] !== undefined)
  const [kind] = said
  if (kind === undefined || said.length > 1) return refuse(undefined, `must be ${what}`)
  const name = rule[kind]
  if (typeof name !== 'string' || name === '') return refuse(kind, 'must be a text')
  if (kind === 'use') return makeBuiltIn(name, rule, refuse)
  for (const key of Object.keys(rule))
    if (key !== kind && !(kind === 'module' && key === 'load'))
      refuse(key, `does not go with ${kind}`)
  if (kind === 'member') return readMember(name, place, refuse)
  // Callers are told the name of a guard, and not where its file lies.
  const own = { kind: 'own', name: fileName(name) } as const
  if (typeof rule.load === 'function') return { ...own, judge: rule.load as GuardFunction } // its verdicts are checked
  if (place.modulesLater) return { ...own, judge: () => notLoaded }
  return refuse('module', 'is for configuration files: import it and give its function')
}

/** The name of a file without its place and its ending. */
function fileName(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  const end = name.lastIndexOf('.')
  return end > 0 ? name.slice(0, end) : name
}

function readMember(member: string, { members }: GuardsPlace, refuse: RefuseSetting): ReadyGuard {
  if (!members)
    return refuse(
      'member',
      'can be asked in a team or a file only: put this guard on the team or step',
    )
  if (members !== 'any' && !members.includes(member)) {
    const meant = nearest(member, members)
    const hint = meant ? `did you mean ${meant}?` : `known: ${members.join(', ')}`
    refuse('member', `names nobody who could be asked: ${member}`, { hint })
  }
  return { kind: 'member', name: member, member }
}

const notLoaded = { verdict: 'block', reason: 'its module is not loaded' } as const
