import type { Arrival, WalkNode } from './walk.ts'
import { createWalks, type GraphRun, type NestedGraph, nodeOfCall, stepPlace } from './walks.ts'

/** That the log of a team told of a node: how work came there, and by what kind of entry. */
export interface TrailMark<G> {
  readonly kind: 'call' | 'branch' | 'approval'
  readonly run: GraphRun<G>
  readonly node: WalkNode
  /** Where work has newly arrived, the node itself last; empty where the log says more of an earlier arrival. */
  readonly arrivals: readonly Arrival[]
}

/** The way that a log tells, read entry by entry. */
interface Trail<G> {
  /** Reads an entry of the trace: `path` leads to the team that wrote it. */
  take(entry: Readonly<Record<string, unknown>>, path: string): TrailMark<G> | undefined
  /** Reads a question to the user: the approval that it belongs to waits. */
  ask(question: string): TrailMark<G> | undefined
  /** The run that a path leads to. */
  runAt(path: string): GraphRun<G> | undefined
}

/** Follows one log through the graph of its team. */
export function createTrail<G extends NestedGraph<G>>(graph: G): Trail<G> {
  const runAt = createWalks(graph)
  const paths = new Set<string>([''])
  /** What has been asked and not answered, and the branches that were told of: a repeated run tells of them again. */
  const waiting = new Set<string>()
  const branches = new Set<string>()

  function arriveAtApproval(run: GraphRun<G>, node: WalkNode): TrailMark<G> {
    const key = `${run.above}\n${node.id}`
    const arrivals = waiting.has(key) ? [] : run.walk.arrive(node.id)
    waiting.add(key)
    return { kind: 'approval', run, node, arrivals }
  }

  return {
    take(entry, path) {
      const run = runAt(path)
      if (!run) return undefined
      paths.delete(path)
      paths.add(path)
      const step = textIn(entry, 'step')
      if (entry.type === 'delegation') {
        const node = nodeOfCall(run.graph.nodes, step, textIn(entry, 'member'))
        // Whom a guard asks for a verdict is not on the way, also where it does a step of its own.
        const isAside = step.includes('!') && node?.step !== undefined
        return (
          node && { kind: 'call', run, node, arrivals: isAside ? [] : run.walk.arrive(node.id) }
        )
      }
      if (entry.type !== 'approval' && entry.type !== 'branch') return undefined
      const place = stepPlace(step)
      const node = run.graph.nodes.find((one) => one.kind === entry.type && one.step === place)
      if (!node) return undefined
      if (entry.type === 'approval') {
        const mark = arriveAtApproval(run, node)
        if (entry.verdict !== 'unclear') waiting.delete(`${run.above}\n${node.id}`)
        return mark
      }
      const key = `${path}\n${step}`
      const arrivals = branches.has(key) ? [] : run.walk.arrive(node.id)
      branches.add(key)
      return { kind: 'branch', run, node, arrivals }
    },
    ask(question) {
      for (const path of [...paths].reverse()) {
        const run = runAt(path)
        const node = run?.graph.nodes.find((one) => isAsked(one, question))
        if (run && node) return arriveAtApproval(run, node)
      }
      return undefined
    },
    runAt,
  }
}

/** A question ends with what its approval asks. */
function isAsked({ kind, detail = '' }: WalkNode, question: string): boolean {
  return kind === 'approval' && detail !== '' && question.endsWith(detail)
}

function textIn(entry: Readonly<Record<string, unknown>>, name: string): string {
  const value = entry[name]
  return typeof value === 'string' ? value : ''
}
