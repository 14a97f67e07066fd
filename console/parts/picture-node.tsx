import type { ComponentChildren } from 'preact'
import type { GraphNode } from '../../src/console/api.ts'
import { hasNoMember } from '../../src/shared/graph-walk.ts'
import type { PlacedNode } from '../logic/layout.ts'
import type { Light } from '../logic/light.ts'
import { guardTitle, lineOf, nodeTitle, toneOf } from '../logic/picture-words.ts'
import { colourOf } from '../logic/words.ts'
import { cut, onPress } from './picture-edge.tsx'

interface NodeProps {
  readonly placed: PlacedNode
  readonly light: Light | undefined
  readonly isChosen: boolean
  readonly press: (() => void) | undefined
  /** What lies within: the way to open it, and the picture of an open team. */
  readonly children?: ComponentChildren
}

/** A node of a team's picture: a member, a branch, a join, or a question to the user. */
export function PictureNode({ placed, light, isChosen, press, children }: NodeProps) {
  const { node, x, y, inside } = placed
  const classes = ['node', node.kind, toneOf(light), inside ? 'open' : '', isChosen ? 'chosen' : '']
  const title = nodeTitle(node, light)
  return (
    <g class={classes.filter(Boolean).join(' ')} transform={`translate(${x} ${y})`}>
      <g
        class={press ? 'face press' : 'face'}
        {...(press && {
          role: 'button',
          tabindex: 0,
          'aria-pressed': isChosen,
          onClick: press,
          onKeyDown: onPress(press),
        })}
      >
        <title>{title}</title>
        <Shape placed={placed} />
        <Words placed={placed} light={light} />
      </g>
      <Shields placed={placed} light={light} />
      {children}
    </g>
  )
}

function Shape({ placed: { node, width, height, inside } }: { readonly placed: PlacedNode }) {
  if (node.kind === 'branch')
    return (
      <path
        class="body"
        d={`M0 ${height / 2} L${width / 2} 0 L${width} ${height / 2} L${width / 2} ${height} Z`}
      />
    )
  const isRound = node.kind === 'join' || node.kind === 'caller'
  const isStack = node.each !== undefined && !inside
  return (
    <>
      {isStack && <rect class="body behind" x={8} y={-8} width={width} height={height} rx={10} />}
      {isStack && <rect class="body behind" x={4} y={-4} width={width} height={height} rx={10} />}
      <rect class="body" width={width} height={height} rx={isRound ? height / 2 : 10} />
      {isMember(node) && !inside && (
        <rect
          class={`stripe ${colourOf(node.member ?? node.id)}`}
          x={0}
          y={12}
          width={3}
          height={height - 24}
        />
      )}
    </>
  )
}

function Words({
  placed,
  light,
}: {
  readonly placed: PlacedNode
  readonly light: Light | undefined
}) {
  const { node, width, height, inside } = placed
  if (node.kind === 'caller')
    return (
      <text x={width / 2} y={22} text-anchor="middle">
        {node.name}
      </text>
    )
  if (inside)
    return (
      <text x={16} y={20} class="small">
        {cut(node.name, 26)}
      </text>
    )
  const isCentred = node.kind === 'branch' || node.kind === 'join'
  const middle = isCentred ? { x: width / 2, 'text-anchor': 'middle' as const } : { x: 16 }
  return (
    <>
      <text {...middle} y={height / 2 - 4}>
        {cut(node.name, isCentred ? 16 : 26)}
      </text>
      <text {...middle} y={height / 2 + 13} class="small">
        {cut(lineOf(node, light), isCentred ? 18 : Math.floor((width - 26) / 6))}
      </text>
      {node.data && (
        <text x={width - 10} y={16} class="small data-mark" text-anchor="end">
          {'{ }'}
        </text>
      )}
    </>
  )
}

/** Where guards look: at the left side what is asked, at the right what is answered. */
function Shields({
  placed: { node, width, height },
  light,
}: {
  readonly placed: PlacedNode
  readonly light: Light | undefined
}) {
  return (
    <>
      {(['input', 'output'] as const).map((side) => {
        const title = guardTitle(side, node.guards?.[side], light)
        if (title === '') return null
        const x = side === 'input' ? 0 : width
        return (
          <g key={side} class="shield" transform={`translate(${x} ${Math.min(height / 2, 28)})`}>
            <title>{title}</title>
            <path
              class={`shield-shape ${light?.guards?.[side] ?? ''}`}
              d="M0 -9 L7 -6 V0 C 7 5 4 8 0 10 C -4 8 -7 5 -7 0 V-6 Z"
            />
          </g>
        )
      })}
    </>
  )
}

function isMember(node: GraphNode): boolean {
  return node.kind !== 'caller' && !hasNoMember(node)
}
