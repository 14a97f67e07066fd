import type { Agent, AgentInfo } from './agent.ts'
import { type AgentConfig, ConfigConversionError, toConfiguredInfo } from './config.ts'
import { checkText } from './config-checks.ts'
import { invalidValue } from './config-error.ts'
import {
  type AgentFunction,
  defineAgent,
  fromRunnable,
  givingData,
  hasMethod,
  isAgent,
  type Runnable,
} from './function.ts'
import { loadModule } from './module-load.ts'
import { wrapAgent } from './wrap.ts'

/**
 * Loads an agent from a file. The endpoint names the file, relative to `directory`; its default export is an agent, a
 * function `(message, turn)` that answers, or an object with `run(text)`. A second export, `resumable = true`, says
 * that its turns may run again after a crash. A changed file is loaded anew.
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
  const named = { file: config.endpoint, field: 'endpoint' }
  const exports = await loadModule(named, { directory, state })
  const { default: found, resumable } = exports
  if (isAgent(found)) return withLocalInfo(found, config)
  const { capabilities: abilities, ...local } = toConfiguredInfo(config)
  const description = { ...local, abilities, resumable: resumable === true }
  if (typeof found === 'function') {
    const answer = found as AgentFunction // called as the contract says
    return defineAgent(description, config.outputSchema ? givingData(answer, isData) : answer)
  }
  if (isRunnable(found)) return fromRunnable(found, description)
  throw invalidValue('endpoint', config.endpoint, found === undefined ? noDefault : noAgent)
}

const noDefault =
  'it has no default export, so no agent and no function; write: export default (message) => "an answer"'
const noAgent = 'its default export is no agent and no function'

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

/** Whether a function whose answers fit a schema gave the data itself: no text, no message and no task. */
function isData(given: unknown): boolean {
  if (typeof given === 'object' && given !== null) return !('parts' in given || 'task' in given)
  return given !== undefined && typeof given !== 'string'
}

function isRunnable(value: unknown): value is Runnable {
  return hasMethod(value, 'run')
}
