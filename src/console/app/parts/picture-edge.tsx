import type { GraphEdge } from '../../api.ts'
import type { PlacedEdge } from '../logic/layout.ts'
import type { Light } from '../logic/light.ts'
import { duration, figure } from '../logic/words.ts'

/** An edge of a team's picture: how often, how fast, how badly. */
export function PictureEdge(props: {
  readonly placed: PlacedEdge
  readonly light: Light | undefined
  readonly isChosen: boolean
  readonly press: (() => void) | undefined
}) {
  const { placed, light, press } = props
  const { edge, path, x, y } = placed
  const words = edgeWords(edge, light)
  const tone = light?.running ? 'running' : light?.failures ? 'troubled' : light ? 'visited' : ''
  const failed = light?.failures ? ` ${light.failures} failed` : ''
  const name = `From ${edge.from || 'you'} to ${edge.to}: ${words || 'nothing yet'}${failed}`
  return (
    <g
      class={`edge ${edge.kind} ${tone} ${props.isChosen ? 'chosen' : ''}`}
      {...(press && {
        role: 'button',
        tabindex: 0,
        'aria-label': name,
        'aria-pressed': props.isChosen,
        onClick: press,
        onKeyDown: onPress(press),
      })}
    >
      <path d={path} class="line" marker-end="url(#arrow)" />
      <path d={path} class="reach" />
      <rect class="area" x={x - 34} y={y - 17} width={68} height={34} />
      {words !== '' && (
        <text x={x} y={y - 6} class="small" text-anchor="middle">
          {words}
          {failed !== '' && (
            <tspan class="failures" x={x} dy={20}>
              {failed}
            </tspan>
          )}
        </text>
      )}
    </g>
  )
}

/** What an edge says: its label until something went over it, then how much, how fast, how badly. */
function edgeWords({ label }: GraphEdge, light: Light | undefined): string {
  if (!light) return cut(label ?? '', 18)
  const facts = [
    figure(light.count),
    light.running > 0 ? 'now' : light.p50Ms === undefined ? '' : duration(light.p50Ms),
  ]
  return facts.filter((fact) => fact !== '').join(' · ')
}

/** Lets Enter and the space bar press what is no button to a browser. */
export function onPress(press: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    press()
  }
}

/** A text that fits. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}
