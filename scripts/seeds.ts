/**
 * `npm run seeds [-- --only S001]… [--json]`: every numbered statement of the five documents that Corral grew out of, with
 * its result: kept; differs, as its page says; or not kept. It runs the tests and examples that the table in
 * `scripts/seeds/statements.md` names, and follows the pages as a reader would. Exits with 1 where a statement is not
 * kept or a page says what is not so. `--only S001-76` is for one statement, and follows no page.
 */
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import type { Followed } from './follow/report.ts'
import { judge, type Ran, type Result } from './seeds/results.ts'
import { pageOf, readStatements, type Statement, toRow } from './seeds/table.ts'
import { withTemporary } from './temporary.ts'

const root = join(import.meta.dirname, '..')
const execute = promisify(execFile)
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  },
})
const all = readStatements(read('scripts/seeds/statements.md'))
const pages = [...new Set(all.map(({ number }) => pageOf(number)))]

process.exitCode = await run()

async function run(): Promise<0 | 1> {
  const isWanted = ({ number }: Statement): boolean =>
    values.only?.some((one) => one === number || one === number.slice(0, 4)) ?? true
  const statements = all.filter(isWanted)
  const paths = new Set(statements.flatMap(({ shown }) => shown.map(({ path }) => path)))
  const isTest = (path: string): boolean => path.startsWith('test/')
  const ran = [
    ...(await Promise.all([...paths].filter((path) => !isTest(path)).map(runExample))),
    ...(await runTests([...paths].filter(isTest))),
  ]
  const results = statements.map((one) => judge(one, ran, isSaid(one)))
  const documents = values.only?.filter((one) => !one.includes('-')).map(pageOf) ?? pages
  const faults = documents.length > 0 ? await followPages(documents) : []
  if (values.json) console.log(JSON.stringify({ statements: results, faults }, null, 2))
  else show(results, documents, faults)
  return faults.length > 0 || results.some(({ result }) => result === 'not kept') ? 1 : 0
}

/** Whether the page of a statement has its row. */
function isSaid(statement: Statement): boolean {
  return read(pageOf(statement.number)).includes(`${toRow(statement)}\n`)
}

async function runExample(path: string): Promise<Ran> {
  const ended = execute(process.execPath, ['--import', 'tsx', path], { cwd: root })
  return ended.then(
    () => ({ path, name: 'runs to its end', state: 'passed' }),
    () => ({ path, name: 'runs to its end', state: 'failed' }),
  )
}

/** Runs test files and folders; a file that could not be read is a test that failed. */
function runTests(paths: readonly string[]): Promise<readonly Ran[]> {
  return withTemporary('seeds', async (folder) => {
    const file = join(folder, 'report.json')
    const args = ['vitest', 'run', '--reporter=json', `--outputFile=${file}`, ...paths]
    await ended('npx', args)
    const report: Report = JSON.parse(readFileSync(file, 'utf8')) // what vitest writes
    return report.testResults.flatMap(({ name, status, assertionResults }) => {
      const path = relative(root, name)
      if (assertionResults.length === 0)
        return [{ path, name: 'its tests', state: stateOf(status) }]
      return assertionResults.map((one) => ({
        path,
        name: one.fullName,
        state: stateOf(one.status),
      }))
    })
  })
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

function stateOf(status: string): Ran['state'] {
  return status === 'passed' || status === 'failed' ? status : 'skipped'
}

/** Follows pages, and says what is wrong with them. */
async function followPages(documents: readonly string[]): Promise<readonly string[]> {
  const args = [
    'tsx',
    'scripts/follow.ts',
    '--json',
    ...documents.flatMap((page) => ['--page', page]),
  ]
  const { followed }: { followed: readonly Followed[] } = JSON.parse(await ended('npx', args)) // what follow.ts prints
  return followed.flatMap(({ page, done }) =>
    done
      .filter(({ outcome }) => outcome === 'fault')
      .map(({ line, command, reason }) => `${page}:${line}  ${command}  (${reason})`),
  )
}

/** What a command printed, whatever code it ended with; its errors are shown. */
function ended(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const pieces: Buffer[] = []
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(Buffer.concat(pieces).toString()))
  })
}

function show(
  results: readonly Result[],
  documents: readonly string[],
  faults: readonly string[],
): void {
  for (const { number, statement, result, why } of results)
    console.log(`${result.padEnd(10)}${number.padEnd(10)}${statement}${why ? `: ${why}` : ''}`)
  const count = (verdict: Result['result']): number =>
    results.filter(({ result }) => result === verdict).length
  console.log(
    `\n${results.length} statements: ${count('kept')} kept, ${count('differs')} differ and say so, ${count('not kept')} not kept`,
  )
  if (documents.length === 0) return
  for (const fault of faults) console.log(`Fault: ${fault}`)
  console.log(`${documents.length} pages followed: ${faults.length} faults`)
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
