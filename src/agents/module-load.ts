import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigConversionError, invalidValue } from './config-error.ts'
import { describeModuleFault } from './module-fault.ts'
import { stateParameter } from './module-state.ts'

/** A file of code that a configuration names. */
interface NamedModule {
  /** As the configuration writes it. */
  readonly file: string
  /** Where the configuration writes it. */
  readonly field: string
}

/** Where such files are, and in which state they are to be loaded. */
export interface ModulePlace {
  /** What the files are relative to: the directory of the configuration. */
  readonly directory: string
  /** The state of the files (see module-state), where they are to be loaded anew with all that they import. */
  readonly state?: string | undefined
}

/**
 * What a file of code exports. A changed file is loaded anew; where the place names a state, what it imports is too.
 *
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModule(
  { file: name, field }: NamedModule,
  { directory, state }: ModulePlace,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(directory, name)
  const file = await stat(path, { bigint: true }).catch(() => undefined)
  if (!file?.isFile()) throw invalidValue(field, name, 'there is no such file')
  const url = pathToFileURL(path)
  // The module cache goes by URL: the time of the last change makes a changed file another module. It is a whole number,
  // as loaders look for a file's ending behind the last dot.
  if (state === undefined) url.searchParams.set('changed', String(file.mtimeNs))
  else url.searchParams.set(stateParameter, state)
  try {
    return await import(url.href)
  } catch (cause) {
    const reason = `cannot be loaded: ${await describeModuleFault(cause, path, directory)}`
    throw new ConfigConversionError(
      { variant: 'InvalidValue', field, value: name, reason },
      { cause },
    )
  }
}
