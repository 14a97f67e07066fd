import { longestLabel, type PlacedEdge } from '../logic/layout.ts'
import type { Light } from '../logic/light.ts'
import { edgeWords, toneOf } from '../logic/picture-words.ts'

/** An edge of a team's picture: how often, how fast, how badly. */
export function PictureEdge(props: {
  readonly placed: PlacedEdge
  readonly light: Light | undefined
  /** Whether its branch was left by another case. */
  readonly isPassedBy: boolean
  readonly isChosen: boolean
  readonly press: (() => void) | undefined
}) {
  const { placed, light, press } = props
  const { edge, path, x, y } = placed
  const { words, more } = edgeWords(edge, light)
  const tone = props.isPassedBy && !light?.count ? 'passed-by' : toneOf(light)
  const retried = light?.retries ? ` ${light.retries} retried` : ''
  const failed = light?.failures ? ` ${light.failures} failed` : retried
  const name = `From ${edge.from || 'you'} to ${edge.to}: ${[words, more].filter(Boolean).join(', ') || 'nothing yet'}${failed}`
  return (
    <g
      class={`edge ${edge.kind} ${tone} ${props.isChosen ? 'chosen' : ''}`}
      {...(press && {
        role: 'button',
        tabindex: 0,
        'aria-pressed': props.isChosen,
        onClick: press,
        onKeyDown: onPress(press),
      })}
    >
      <title>{edge.label && !name.includes(edge.label) ? `${name} (${edge.label})` : name}</title>
      <path d={path} class="line" marker-end="url(#arrow)" />
      <path d={path} class="reach" />
      <rect class="area" x={x - 34} y={y - 17} width={68} height={34} />
      {words !== '' && (
        <text x={x} y={y - 6} class="small" text-anchor="middle">
          {cut(words, longestLabel)}
          {more !== '' && (
            <tspan x={x} dy={20}>
              {more}
            </tspan>
          )}
          {failed !== '' && (
            <tspan class="failures" x={x} dy={more === '' ? 20 : 14}>
              {failed}
            </tspan>
          )}
        </text>
      )}
    </g>
  )
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
