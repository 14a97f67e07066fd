import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { GraphEdge, GraphNode, TeamGraph } from '../../src/console/api.ts'
import {
  fitsInto,
  insideAt,
  layOut,
  type Picture,
  type PlacedNode,
  smallest,
  toPlace,
} from '../logic/layout.ts'
import { edgeKey, type Lights } from '../logic/light.ts'
import { onPress, PictureEdge } from './picture-edge.tsx'
import { PictureNode } from './picture-node.tsx'

/** What a press on the picture means. */
interface Presses {
  readonly toggle: (place: string) => void
  readonly choose?: ((edge: ChosenEdge) => void) | undefined
  readonly chooseNode?: ((node: ChosenNode) => void) | undefined
  /** The key of a chosen edge, or `node ` and the place of a chosen node. */
  readonly chosen?: string | undefined
}

/** A node that was chosen: the team it belongs to, and its place among the lights. */
export interface ChosenNode {
  readonly team: TeamGraph
  readonly node: GraphNode
  readonly place: string
}

/** An edge that was chosen: the team it belongs to, and its key among the lights. */
export interface ChosenEdge {
  readonly team: TeamGraph
  readonly edge: GraphEdge
  readonly key: string
}

/** A team drawn from its definition and lit from the log; nested teams open in place. */
export function TeamPicture(props: {
  readonly team: TeamGraph
  readonly lights: Lights
  readonly choose?: (edge: ChosenEdge) => void
  readonly chooseNode?: (node: ChosenNode) => void
  readonly chosen?: string | undefined
}) {
  const { team, lights } = props
  const frame = useRef<HTMLDivElement>(null)
  const open = useSignal<ReadonlySet<string>>(new Set(nestedPlaces(team)))
  const room = useSignal(innerWidth)
  useEffect(() => {
    const resize = (): void => {
      room.value = frame.current?.clientWidth ?? innerWidth
    }
    resize()
    addEventListener('resize', resize)
    return () => removeEventListener('resize', resize)
  }, [])
  const picture = useComputed(() => {
    const flat = layOut(team, { open: open.value, direction: 'LR' })
    return fitsInto(room.value, flat) ? flat : layOut(team, { open: open.value, direction: 'TB' })
  })
  const toggle = (place: string): void => {
    const next = new Set(open.value)
    if (!next.delete(place)) next.add(place)
    open.value = next
  }
  const { width, height } = picture.value
  return (
    <div class="picture" ref={frame}>
      <svg
        viewBox={`-4 -4 ${width + 8} ${height + 8}`}
        style={{
          maxWidth: `${Math.round((width + 8) * 1.12)}px`,
          minWidth: `${Math.round(width * smallest)}px`,
        }}
        aria-label={`The team ${team.name}`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M1 1 7 4 1 7" class="arrow" />
          </marker>
        </defs>
        <Level
          picture={picture.value}
          above=""
          lights={lights}
          presses={{
            toggle,
            choose: props.choose,
            chooseNode: props.chooseNode,
            chosen: props.chosen,
          }}
        />
      </svg>
    </div>
  )
}

interface LevelProps {
  readonly picture: Picture
  readonly above: string
  readonly lights: Lights
  readonly presses: Presses
}

function Level({ picture, above, lights, presses }: LevelProps) {
  return (
    <>
      {picture.nodes.map((placed) => (
        <Node
          key={placed.node.id}
          team={picture.team}
          placed={placed}
          above={above}
          lights={lights}
          presses={presses}
        />
      ))}
      {picture.edges.map((placed) => {
        const key = edgeKey(above, placed.edge)
        const press = presses.choose
        const chosen = { team: picture.team, edge: placed.edge, key }
        const taken = lights.get(toPlace(above, placed.edge.from))?.taken
        return (
          <PictureEdge
            key={key}
            placed={placed}
            light={lights.get(key)}
            isPassedBy={isPassedBy(placed.edge, taken)}
            isChosen={presses.chosen === key}
            press={press && (() => press(chosen))}
          />
        )
      })}
    </>
  )
}

interface NodeProps extends Omit<LevelProps, 'picture'> {
  readonly team: TeamGraph
  readonly placed: PlacedNode
}

function Node({ team, placed, above, lights, presses }: NodeProps) {
  const { node, width, inside } = placed
  const place = node.kind === 'caller' ? '' : toPlace(above, node.id)
  const { chooseNode } = presses
  return (
    <PictureNode
      placed={placed}
      light={lights.get(place)}
      isChosen={presses.chosen === `node ${place}`}
      press={chooseNode && (() => chooseNode({ team, node, place }))}
    >
      {node.team && (
        <Opener
          x={width - 26}
          name={node.name}
          isOpen={inside !== undefined}
          press={() => presses.toggle(place)}
        />
      )}
      {inside && (
        <g transform={`translate(${insideAt.x} ${insideAt.y})`}>
          <Level picture={inside} above={place} lights={lights} presses={presses} />
        </g>
      )}
    </PictureNode>
  )
}

function Opener(props: {
  readonly x: number
  readonly name: string
  readonly isOpen: boolean
  readonly press: () => void
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button of its own
    <g
      class="opener"
      role="button"
      tabindex={0}
      aria-expanded={props.isOpen}
      aria-label={props.isOpen ? `Close ${props.name}` : `Open ${props.name}`}
      transform={`translate(${props.x} 6)`}
      onClick={props.press}
      onKeyDown={onPress(props.press)}
    >
      <rect width={20} height={20} rx={5} />
      <path d={props.isOpen ? 'M5 10h10' : 'M5 10h10M10 5v10'} />
    </g>
  )
}

/** Whether a branch was left by other cases than those of an edge. */
function isPassedBy({ cases }: GraphEdge, taken: readonly number[] | undefined): boolean {
  return cases !== undefined && taken !== undefined && !cases.some((one) => taken.includes(one))
}

/** Teams are shown with what is in them, two levels deep; what lies deeper opens by a press. */
function nestedPlaces(team: TeamGraph, above = '', depth = 0): string[] {
  return team.nodes.flatMap(({ id, team: nested }) => {
    if (!nested || depth > 1) return []
    const place = toPlace(above, id)
    return [place, ...nestedPlaces(nested, place, depth + 1)]
  })
}
