import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the compiler says of a program: of its head, and of each line after it. */
interface Said {
  readonly ofHead: readonly string[]
  /** Undefined where it says nothing. */
  readonly ofLines: readonly (string | undefined)[]
}

/** Compiles a program as a user's would be. */
export async function messagesOf(head: string, lines: readonly string[]): Promise<Said> {
  const directory = await mkdtemp(join(tmpdir(), 'corral-types-'))
  try {
    await writeFile(join(directory, 'teams.mts'), [head, ...lines].join('\n'))
    const compilerOptions = {
      typeRoots: [join(root, 'node_modules/@types')],
      paths: {
        corral: [join(root, 'src/index.ts')],
        'corral/*': [join(root, 'src/*/index.ts')],
        zod: [join(root, 'node_modules/zod/index.d.ts')],
      },
    }
    const config = { extends: join(root, 'tsconfig.json'), compilerOptions, files: ['teams.mts'] }
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ ...config, include: [] }))
    const said = await compile(directory)
    const before = head.split('\n').length
    const ofLine = (line: number): string | undefined =>
      said.flatMap((one) => (one.line === line ? [one.text] : [])).join('') || undefined
    return {
      ofHead: said.flatMap(({ line, text }) => (line > before ? [] : [text])),
      ofLines: lines.map((_, index) => ofLine(before + index + 1)),
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** What the compiler says, by the line of the file; what explains a message belongs to it. */
function compile(project: string): Promise<readonly { line: number; text: string }[]> {
  return new Promise((resolve) => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFile(process.execPath, [tsc, '-p', project, '--pretty', 'false'], (_failed, stdout) => {
      const found = [
        ...stdout.matchAll(/^\S*teams\.mts\((\d+),\d+\): error TS\d+: (.*(?:\n .*)*)/gm),
      ]
      resolve(found.map(([, line, text = '']) => ({ line: Number(line), text })))
    })
  })
}
