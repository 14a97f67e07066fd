import type { JsonObject } from '../protocol/types.ts'
import { type Fields, isFields } from '../shared/json.ts'
import { invalidValue } from './config-error.ts'
import { hasMethod } from './function.ts'
import { loadModule, type ModulePlace } from './module-load.ts'
import { requireApproval } from './require-approval.ts'
import type { ToolModuleConfig } from './tool-config.ts'
import { defineTool, type Tool, type ToolDefinition } from './tools.ts'

/**
 * Loads the tools of files: each exports a tool, a list of tools, or several under names; what else it exports is left
 * alone. A tool is what `defineTool` makes, or takes.
 *
 * @throws ConfigConversionError that names the file, the tool or the name for approval that is wrong.
 */
export async function loadToolModules(
  modules: readonly ToolModuleConfig[],
  place: ModulePlace,
): Promise<readonly Tool[]> {
  const owners = new Map<string, string>()
  const lists: Tool[] = []
  for (const [index, config] of modules.entries()) {
    const field = `tools.${index}.module`
    const tools = await loadTools(config, field, place)
    for (const { name } of tools) {
      const owner = owners.get(name)
      const where = owner === config.module ? 'it' : owner
      if (owner !== undefined)
        throw invalidValue(field, config.module, `${where} has a tool named ${name} already`)
      owners.set(name, config.module)
    }
    lists.push(...withApproval(tools, config, `tools.${index}.approval`))
  }
  return lists
}

function withApproval(
  tools: readonly Tool[],
  { module, approval }: ToolModuleConfig,
  field: string,
): readonly Tool[] {
  const required = requireApproval(tools, approval)
  if (required.unknown === undefined) return required.tools
  const names = tools.map(({ name }) => name).join(', ')
  const reason = `is not a tool of ${module}; its tools: ${names}`
  const place = Array.isArray(approval) ? `.${approval.indexOf(required.unknown)}` : ''
  throw invalidValue(`${field}${place}`, required.unknown, reason)
}

async function loadTools(
  { module }: ToolModuleConfig,
  field: string,
  place: ModulePlace,
): Promise<readonly Tool[]> {
  const exports = await loadModule({ file: module, field }, place)
  const found = new Set(Object.values(exports).flat().filter(isMeant))
  if (found.size === 0) throw invalidValue(field, module, noTool)
  return [...found].map((value) => {
    try {
      return toTool(value)
    } catch (thrown) {
      // Written by whoever wrote the file, for whom these words are.
      throw invalidValue(field, module, thrown instanceof Error ? thrown.message : 'it failed')
    }
  })
}

const noTool =
  'it exports no tool; write: export default defineTool({ name, description, input, execute })'

/** Whether a file means a value to be a tool. */
function isMeant(value: unknown): value is Fields {
  return isFields(value) && hasMethod(value, 'execute')
}

function toTool(value: Fields): Tool {
  const { name, description, parameters, input } = value
  if (typeof name !== 'string') throw new TypeError('one of its tools has no name')
  if (typeof description !== 'string') throw new TypeError(`its tool ${name} has no description`)
  if (input === undefined && !isFields(parameters))
    throw new TypeError(`its tool ${name} has no input: write the schema of its arguments`)
  const written: object = value
  return defineTool(written as Tool & ToolDefinition<JsonObject>) // its members have just been looked at
}
