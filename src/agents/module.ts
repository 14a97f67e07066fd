import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Agent, AgentInfo } from './agent.ts'
import { type AgentConfig, ConfigConversionError, toConfiguredInfo } from './config.ts'
import { checkText } from './config-checks.ts'
import { invalidValue } from './config-error.ts'
import { type AgentFunction, defineAgent, fromRunnable, type Runnable } from './function.ts'
import { describeModuleFault } from './module-fault.ts'
import { wrapAgent } from './wrap.ts'

/**
 * Loads an agent from a file (`protocol = "module"`). The endpoint is the file, relative to `directory`; its default
 * export is an agent, a function `(message, turn)` that answers, or an object with `run(text)`. A function may say by
 * a second export, `resumable = true`, that its turns may run again after a crash. A changed file is loaded anew.
 *
 * @throws ConfigConversionError that names the file as the configuration does, never where it lies.
 */
export async function loadModuleAgent(config: AgentConfig, directory: string): Promise<Agent> {
  if (config.protocol !== 'module')
    throw new ConfigConversionError({
      variant: 'WrongProtocol',
      expected: 'Module',
      found: config.protocol,
    })
  checkText('endpoint', config.endpoint)
  const exports = await load(config, directory)
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

async function load(
  { endpoint }: AgentConfig,
  directory: string,
): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(directory, endpoint)
  const file = await stat(path).catch(() => undefined)
  if (!file?.isFile()) throw invalidValue('endpoint', endpoint, 'there is no such file')
  const url = pathToFileURL(path)
  // The module cache goes by URL: the time of the last change makes a changed file another module.
  url.searchParams.set('changed', String(file.mtimeMs))
  try {
    return await import(url.href)
  } catch (cause) {
    const reason = `cannot be loaded: ${await describeModuleFault(cause, path, directory)}`
    throw new ConfigConversionError(
      { variant: 'InvalidValue', field: 'endpoint', value: endpoint, reason },
      { cause },
    )
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

function isAgent(value: unknown): value is Agent {
  return hasMethod(value, 'process') && hasMethod(value, 'info')
}

function isRunnable(value: unknown): value is Runnable {
  return hasMethod(value, 'run')
}

function hasMethod(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return typeof Reflect.get(value, name) === 'function'
}
