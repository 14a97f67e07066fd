import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Agent, AgentInfo } from './agent.ts'
import { type AgentConfig, ConfigConversionError, toConfiguredInfo } from './config.ts'
import { checkText } from './config-checks.ts'
import { invalidValue } from './config-error.ts'
import {
  type AgentFunction,
  defineAgent,
  fromRunnable,
  hasMethod,
  isAgent,
  type Runnable,
} from './function.ts'
import { describeModuleFault } from './module-fault.ts'
import { stateParameter } from './module-state.ts'
import { wrapAgent } from './wrap.ts'

/**
 * Loads an agent from a file (`protocol = "module"`). The endpoint is the file, relative to `directory`; its default
 * export is an agent, a function `(message, turn)` that answers, or an object with `run(text)`. A function may say by
 * a second export, `resumable = true`, that its turns may run again after a crash. A changed file is loaded anew; where
 * `state` names a state of its files (see module-state), what it imports is too.
 *
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModuleAgent(
  config: AgentConfig,
  directory: string,
  state?: string,
): Promise<Agent> {
  if (config.protocol !== 'module')
    throw new ConfigConversionError({
      variant: 'WrongProtocol',
      expected: 'Module',
      found: config.protocol,
    })
  checkText('endpoint', config.endpoint)
  const exports = await loadModule(config.endpoint, { field: 'endpoint', directory, state })
  const { default: found, resumable } = exports
  if (isAgent(found)) return withLocalInfo(found, config)
  const { capabilities: abilities, ...local } = toConfiguredInfo(config)
  const description = { ...local, abilities, resumable: resumable === true }
  if (typeof found === 'function') return defineAgent(description, found as AgentFunction) // called as the contract says
  if (isRunnable(found)) return fromRunnable(found, description)
  throw invalidValue('endpoint', config.endpoint, found === undefined ? noDefault : noAgent)
}

const noDefault =
  'it has no default export, so no agent and no function; write: export default (message) => "an answer"'
const noAgent = 'its default export is no agent and no function'

/** Where a module is named and looked for. */
interface ModulePlace {
  /** The field of the configuration that names it. */
  readonly field: string
  readonly directory: string
  /** The state of its files, where it is to be loaded anew with all that it imports. */
  readonly state?: string | undefined
}

/**
 * The exports of a file that a configuration names.
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModule(
  file: string,
  { field, directory, state }: ModulePlace,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(directory, file)
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw invalidValue(field, file, 'there is no such file')
  const url = pathToFileURL(path)
  // The module cache goes by URL: the time of the last change makes a changed file another module.
  if (state === undefined) url.searchParams.set('changed', String(found.mtimeMs))
  else url.searchParams.set(stateParameter, state)
  try {
    return await import(url.href)
  } catch (cause) {
    const reason = `cannot be loaded: ${await describeModuleFault(cause, path, directory)}`
    const fault = { variant: 'InvalidValue', field, value: file, reason } as const
    throw new ConfigConversionError(fault, { cause })
  }
}

/** The agent under the configuration's names. */
function withLocalInfo(agent: Agent, config: AgentConfig): Agent {
  const { capabilities, ...local } = toConfiguredInfo(config)
  const overlay = async (): Promise<AgentInfo> => {
    const info = await agent.info()
    return {
      ...info,
      ...local,
      capabilities: capabilities.length > 0 ? capabilities : info.capabilities,
      metadata: { ...info.metadata, ...local.metadata },
    }
  }
  return wrapAgent(agent, { info: overlay })
}

function isRunnable(value: unknown): value is Runnable {
  return hasMethod(value, 'run')
}
