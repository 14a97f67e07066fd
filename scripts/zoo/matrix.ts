/** What the zoo asks of each framework, how results are judged, and the table that shows them. */

/** The ways in which a framework and Corral meet. */
export const directions = ['served', 'called', 'member'] as const
export type Direction = (typeof directions)[number]

/** What each pair must be able to do. */
export const cellNames = [
  ...(['send', 'stream', 'question', 'cancel'] as const),
  ...(['signed', 'authenticated', 'both'] as const),
] as const
export type CellName = (typeof cellNames)[number]

/** A cell of a framework. */
export type CellKey = `${Direction} ${CellName}`

/** A cell of a team as a whole: its card is Corral's own, so that signatures say nothing of the member. */
export const isAsked = (direction: Direction, cell: CellName): boolean =>
  direction !== 'member' || !['signed', 'both'].includes(cell)

/** Why cells of a framework do not pass. */
export interface Fault {
  readonly animal: string
  readonly cells: readonly CellKey[]
  /** Whether the framework has nothing of the kind; else it has, and it does not work. */
  readonly absent?: boolean
  readonly words: string
}

/** What a run of one framework found: why each cell failed, null where it passed. */
export interface Found {
  readonly animal: string
  /** The packages with their versions. */
  readonly title: string
  readonly cells: Readonly<Partial<Record<CellKey, string | null>>>
}

/** Failures that no fault explains, and faults that explain a cell that passed. */
export function judge(all: readonly Found[], faults: readonly Fault[]): readonly string[] {
  return all.flatMap(({ animal, cells }) => {
    const known = new Set(faultsOf(animal, faults).flatMap((fault) => fault.cells))
    return keys().flatMap((key) => {
      const why = cells[key]
      if (why === null)
        return known.has(key) ? [`${animal}, ${key}: passes, but faults.ts explains it`] : []
      return known.has(key) ? [] : [`${animal}, ${key}: ${why ?? 'was not run'}`]
    })
  })
}

/** The table, with a note for each cell that does not pass. */
export function renderMatrix(
  all: readonly Found[],
  faults: readonly Fault[],
  run: { readonly day: string; readonly node: string },
): string {
  const notes: string[] = []
  const rows = all.flatMap((found) =>
    directions.map((direction) => {
      const shown = cellNames.map((cell) => renderCell(found, faults, [direction, cell], notes))
      return `| ${found.title} | ${labels[direction]} | ${shown.join(' | ')} |`
    }),
  )
  return [
    `Run on ${run.day} with Node ${run.node}.`,
    '',
    `| framework | way | ${cellNames.map((cell) => headings[cell] ?? cell).join(' | ')} |`,
    `|---|---|${cellNames.map(() => '---|').join('')}`,
    ...rows,
    '',
    ...notes.map((words, index) => `${index + 1}. ${words}`),
  ].join('\n')
}

const labels: Readonly<Record<Direction, string>> = {
  served: 'its client calls Corral',
  called: 'Corral calls it',
  member: 'member of a team',
}

const headings: Partial<Record<CellName, string>> = { both: 'signed and authenticated' }

function renderCell(
  { animal, cells }: Found,
  faults: readonly Fault[],
  [direction, cell]: readonly [Direction, CellName],
  notes: string[],
): string {
  if (!isAsked(direction, cell)) return ''
  const key: CellKey = `${direction} ${cell}`
  if (cells[key] === null) return 'yes'
  const fault = faultsOf(animal, faults).find((one) => one.cells.includes(key))
  const words = fault?.words ?? `Not explained: ${cells[key] ?? 'it was not run'}`
  if (!notes.includes(words)) notes.push(words)
  return `${fault?.absent ? '–' : '**no**'} (${notes.indexOf(words) + 1})`
}

const faultsOf = (animal: string, faults: readonly Fault[]): readonly Fault[] =>
  faults.filter((fault) => fault.animal === animal)

function keys(): readonly CellKey[] {
  return directions.flatMap((direction) =>
    cellNames
      .filter((cell) => isAsked(direction, cell))
      .map((cell): CellKey => `${direction} ${cell}`),
  )
}
