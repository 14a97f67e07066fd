/** A row of numbers as a small picture; for the eye alone, the numbers stand beside it. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const highest = Math.max(...values, 1)
  const width = 72
  const height = 20
  const step = width / Math.max(values.length, 1)
  return (
    <svg class="sparkline" width={width} height={height} aria-hidden="true">
      {values.map((value, i) => {
        const tall = value === 0 ? 1 : Math.max((value / highest) * height, 2)
        const place = { x: i * step, y: height - tall, width: Math.max(step - 1, 1), height: tall }
        return <rect key={i} {...place} class={value === 0 ? 'none' : ''} />
      })}
    </svg>
  )
}
