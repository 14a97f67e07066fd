import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chapterOf } from '../../scripts/markdown/page.ts'
import { rest03 } from '../../src/bindings/dialects/v03-rest.ts'
import { rest10, toPlainRpcError, toRpcError10 } from '../../src/bindings/dialects/v10.ts'
import { errorReply, toOpenAIError } from '../../src/bindings/openai/answer.ts'
import { A2AError, type ErrorCode, errorCodes, errorRow } from '../../src/protocol/errors.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/guides/errors.md'), 'utf8')

/** The first cells of the rows of a chapter's tables. */
function firstCells(title: string): readonly string[] {
  const rows = chapterOf(page, title).matchAll(/^\| (`[^|]*`) \|/gm)
  return [...rows].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]*)`/g)].map(([, c = '']) => c),
  )
}

/** What an error is on every wire, by what writes it there. */
function wireRow(code: ErrorCode): string {
  const error = new A2AError(code, 'words')
  const http = rest10().encodeError(error).status
  const http100 = rest10('1.0.0').encodeError(error).status
  const { reason, ranchReason } = errorRow(code)
  const ranch = toPlainRpcError(error, 'ranch')
  const cells = [
    `\`${code}\``,
    http === http100 ? http : `${http} (${http100} in 1.0.0)`,
    `\`${toRpcError10(error).code}\``,
    `\`${reason}\``,
    `\`${toPlainRpcError(error, '0.3').code}\``,
    `\`${ranch.code}\`${ranchReason ? ` \`${ranchReason}\`` : ''}`,
    `${errorReply(error).status} \`${toOpenAIError(error).type}\``,
  ]
  return `| ${cells.join(' | ')} |`
}

describe('docs/guides/errors.md', () => {
  test('says of every code what it means', () => {
    expect(firstCells('Every code')).toEqual(errorCodes)
  })

  test.each(errorCodes)('says what %s is on every wire', (code) => {
    expect(page).toContain(`\n${wireRow(code)}\n`)
    expect(rest03.encodeError(new A2AError(code, 'words')).status).toBe(errorRow(code).http)
  })

  test('names every finer reason, and no other', () => {
    const reasons = matches('src', /\breason: '([A-Z][A-Z_]+)'/g, /protocol\/errors\.ts$/)
    const codes = ['task_failed', 'task_rejected', 'task_canceled']
    const ofOpenAI = matches('src/bindings/openai', /openai: '([a-z_]+)'/g)
    const finer = firstCells('On the wire').slice(errorCodes.length)
    expect(finer.toSorted()).toEqual([...reasons, ...ofOpenAI, ...codes].toSorted())
  })

  test('names every fault of a team and of an agent, and no other', () => {
    const faults = matches('src/team/errors.ts', /^ {2}\| '(\w+)'$/gm)
    const variants = matches('src/agents/config-checks.ts', /readonly variant: '(\w+)'/g)
    expect(firstCells('A team that cannot be')).toEqual(faults)
    expect(firstCells('An agent that cannot be')).toEqual(variants)
  })
})

/** What an expression finds in a file, or in the files of a folder, each once. */
function matches(path: string, expression: RegExp, without?: RegExp): readonly string[] {
  const files = path.endsWith('.ts')
    ? [path]
    : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
        .map((file) => join(path, file))
        .filter((file) => file.endsWith('.ts') && !without?.test(file))
  const found = files.flatMap((file) => [
    ...readFileSync(join(root, file), 'utf8').matchAll(expression),
  ])
  return [...new Set(found.map(([, name = '']) => name))]
}
