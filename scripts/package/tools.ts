import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/**
 * It would rather have `imports` with the condition `browser` than the field of that name. That names files of `dist`, also
 * where the sources run; every bundler knows the field.
 */
const passedOver = 'USE_EXPORTS_OR_IMPORTS_BROWSER'

/** What publint has to say of a tarball, suggestions included. */
export async function lint(tarball: string): Promise<readonly string[]> {
  const { buffer } = new Uint8Array(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true })
  const faults = messages.filter(({ code }) => code !== passedOver)
  return faults.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`)
}

/** How TypeScript finds our types, beyond what CommonJS has to do without. */
export async function checkTypes(tarball: string): Promise<readonly string[]> {
  const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
  if (!result.types) return ['types: there are none']
  return result.problems.filter((problem) => !isCommonJs(problem)).map(toLine)
}

/**
 * The package is made of ES modules. CommonJS gets them by `import()`, from Node 20.19 on by `require` as well; the
 * resolution that TypeScript calls `node10` does not know `exports` at all.
 */
function isCommonJs(problem: Problem): boolean {
  if (problem.kind === 'CJSResolvesToESM') return true
  return 'resolutionKind' in problem && problem.resolutionKind === 'node10'
}

function toLine({ kind, ...details }: Problem): string {
  return `types: ${kind} ${JSON.stringify(details)}`
}
