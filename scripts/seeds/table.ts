/** The table of statements: how it is read, and how it fills the tables of the pages. */

/** Something that shows a statement: a test file, a folder of tests, or an example. */
export interface Shown {
  readonly path: string
  /** Only the tests that have these words in their names. */
  readonly words: string | undefined
}

/** One numbered statement of a document. */
export interface Statement {
  /** `S000-1`. */
  readonly number: string
  readonly words: string
  /** How Corral differs from it. */
  readonly differs: string | undefined
  readonly shown: readonly Shown[]
}

const none = '–'
const marker = /(<!-- statements: (S\d{3})-(\d+)(?: to (\d+))? -->\n\n)(?:\|.*\n)*/g

/** Reads the table. @throws Error where a row has another number of cells. */
export function readStatements(table: string): readonly Statement[] {
  return table
    .split('\n')
    .filter((line) => /^\| S\d{3}-/.test(line))
    .map((line) => {
      const [, number = '', words = '', differs = '', shown = '', ...rest] = line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim())
      if (rest.length !== 1) throw new Error(`${number} has not four cells`)
      return {
        number,
        words,
        differs: differs === none ? undefined : differs,
        shown: shown === none ? [] : shown.split('; ').map(toShown),
      }
    })
}

/** A page with its tables as the statements have them. */
export function fillTables(page: string, statements: readonly Statement[]): string {
  return page.replace(marker, (_, head: string, document: string, from: string, to = from) => {
    const rows = statements.filter(({ number }) => {
      const [of, at] = number.split('-')
      return of === document && Number(at) >= Number(from) && Number(at) <= Number(to)
    })
    return [`${head}| number | statement | here |`, '|---|---|---|', ...rows.map(toRow), ''].join(
      '\n',
    )
  })
}

/** The row of a statement on its page. */
export function toRow({ number, words, differs }: Statement): string {
  return `| ${number} | ${words} | ${differs ?? 'kept'} |`
}

/** The page that a statement belongs to. */
export function pageOf(number: string): string {
  return `docs/seeds/${number.slice(0, 4).toLowerCase()}.md`
}

function toShown(cell: string): Shown {
  const [path = '', words] = cell.split(' > ')
  return { path, words }
}
