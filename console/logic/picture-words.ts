import type { GraphEdge, GraphNode } from '../../src/console/api.ts'
import type { Light } from './light.ts'
import { duration, figure, money } from './words.ts'

/** How a node or an edge is coloured. */
export function toneOf(light: Light | undefined): string {
  if (!light) return ''
  if (light.waits) return 'waits'
  if (light.guards?.input === 'block' || light.guards?.output === 'block') return 'troubled'
  if (light.running > 0) return 'running'
  if (light.failures > 0) return 'troubled'
  if (light.retries) return 'retried'
  if (light.count > 0) return 'visited'
  return light.skipped ? 'skipped' : ''
}

/** What stands beneath the name of a node: what goes on there, else what it is. */
export function lineOf(node: GraphNode, light: Light | undefined): string {
  const cost = light?.costUsd ? money(light.costUsd) : ''
  const standing = standingOf(node, light)
  // What kind of agent it is may be read where nothing has happened yet.
  if (cost !== '' && standing === node.kind) return cost
  return [standing, cost].filter((one) => one !== '').join(' · ')
}

function standingOf({ kind, detail, cases, joins }: GraphNode, light: Light | undefined): string {
  if (light?.waits) return 'waits for you'
  if (light?.items) return `${light.items.done} of ${light.items.all} items`
  if (light?.running) return 'at work'
  if (light?.skipped && light.count === 0) return 'left out'
  if (kind === 'approval' && light?.verdict) return verdictWord(light.verdict)
  if (kind === 'branch') {
    const last = light?.taken?.at(-1)
    if (last === undefined) return `${cases?.length ?? 0} cases`
    return last === 0 ? 'no case' : `case ${last}`
  }
  return detail ?? (joins ? 'joins' : kind)
}

/** What a user said to an approval, in a word or two. */
export function verdictWord(verdict: string): string {
  return verdict === 'unclear' ? 'asked again' : verdict
}

/** All that a node has to say, for those who do not see it. */
export function nodeTitle(node: GraphNode, light: Light | undefined): string {
  const { name, cases = [], guards, data, each } = node
  const facts = [
    `${name}: ${lineOf(node, light)}`,
    ...cases.map(
      (when, i) => `case ${i + 1}: ${when}${light?.taken?.includes(i + 1) ? ', taken' : ''}`,
    ),
    each === undefined ? '' : 'once per item',
    data ? 'answers with data' : '',
    ...(['input', 'output'] as const).map((side) => guardTitle(side, guards?.[side], light)),
  ]
  return facts.filter((fact) => fact !== '').join('; ')
}

const guardWords = { allow: 'allowed', replace: 'replaced', block: 'blocked' } as const

/** What the guards of one side are, and what they decided; empty where there is none. */
export function guardTitle(
  side: 'input' | 'output',
  names: readonly string[] | undefined,
  light: Light | undefined,
): string {
  const verdict = light?.guards?.[side]
  if (!names?.length && !verdict) return ''
  const who = names?.length ? ` ${names.join(', ')}` : ''
  return `${side} guard${who}${verdict ? `: ${guardWords[verdict]}` : ''}`
}

/** What an edge says: in which round, how much, how fast; its label until something went over it. */
export function edgeWords({ label, max, cases }: GraphEdge, light: Light | undefined): EdgeWords {
  const round = light?.round && max ? `${roundWord(label)} ${light.round} of ${max}` : ''
  if (round !== '') return { words: round, more: '' }
  if (!light?.count) return { words: label ?? '', more: '' }
  const facts = [
    figure(light.count),
    light.running > 0 ? 'now' : light.p50Ms === undefined ? '' : duration(light.p50Ms),
  ]
  const said = facts.filter((fact) => fact !== '').join(' · ')
  return cases && label !== undefined ? { words: label, more: said } : { words: said, more: '' }
}

/** The words above an edge, and of a case what went over it below. */
interface EdgeWords {
  readonly words: string
  readonly more: string
}

function roundWord(label: string | undefined): string {
  return label === 'feedback' ? 'feedback' : 'round'
}
