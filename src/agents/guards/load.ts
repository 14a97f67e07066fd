import { ConfigConversionError } from '../config-checks.ts'
import { loadModule } from '../module.ts'
import { readGuards } from './built-in.ts'
import type { GuardFunction, GuardRule, GuardSide, Guards, ModuleGuard } from './guard.ts'
import { GuardFault, type ReadyGuards } from './ready.ts'

/** Where the files of a configuration lie. */
interface GuardFiles {
  readonly directory: string
  /** The state of the modules' files, where modules are to be loaded anew. */
  readonly moduleState?: string | undefined
}

/**
 * Checks the guards of an agent in a configuration; whom they ask is known to the whole of it only.
 * @throws ConfigConversionError that names the first one that cannot be.
 */
export function checkGuards(guards: Guards): void {
  toReady(guards, true)
}

/** The guards of an agent in a configuration, ready for use. @throws ConfigConversionError */
export async function loadGuards(guards: Guards, files: GuardFiles): Promise<ReadyGuards> {
  return toReady(await withModules(guards, files), false)
}

function toReady(guards: Guards, modulesLater: boolean): ReadyGuards {
  try {
    return readGuards(guards, { members: 'any', modulesLater })
  } catch (error) {
    if (!(error instanceof GuardFault)) throw error
    const { path, reason, hint } = error
    const field = ['guards', ...path].join('.')
    const fault = { variant: 'InvalidGuard', field, reason, ...(hint && { hint }) } as const
    throw new ConfigConversionError(fault, { cause: error })
  }
}

/** The same guards with the functions of their modules. @throws ConfigConversionError for one that cannot be loaded. */
export async function withModules(guards: Guards, files: GuardFiles): Promise<Guards> {
  if (modulesOf(guards).length === 0) return guards
  const list = async (side: GuardSide): Promise<readonly GuardRule[] | undefined> =>
    guards[side] &&
    Promise.all(
      guards[side].map(async (rule, index) =>
        isModule(rule)
          ? { ...rule, load: await load(rule, `guards.${side}.${index}`, files) }
          : rule,
      ),
    )
  const [input, output] = [await list('input'), await list('output')]
  return { ...(input && { input }), ...(output && { output }) }
}

/** The files that guards name. */
export function modulesOf({ input = [], output = [] }: Guards): readonly string[] {
  return [...input, ...output].filter(isModule).map(({ module }) => module)
}

function isModule(rule: GuardRule): rule is ModuleGuard {
  return typeof rule === 'object' && 'module' in rule
}

async function load(
  { module }: ModuleGuard,
  at: string,
  { directory, moduleState: state }: GuardFiles,
): Promise<GuardFunction> {
  const field = `${at}.module`
  const { default: found } = await loadModule({ file: module, field }, { directory, state })
  if (typeof found === 'function') return found as GuardFunction // its verdicts are checked
  throw new ConfigConversionError({
    variant: 'InvalidValue',
    field,
    value: module,
    reason:
      'its default export is no function; write: export default ({ text }) => ({ verdict: "allow" })',
  })
}
