import { type Fields, isFields } from '../../shared/json.ts'
import type { Unplaced } from './problems.ts'
import { stepKinds } from './steps.ts'

/**
 * Keys that say how a member is called, beside steps that call none themselves. They are taken, for files that have them
 * work; nothing comes of them, which their author hardly meant.
 */
export function ignoredKeys(file: unknown): readonly Unplaced[] {
  if (!isFields(file) || !Array.isArray(file.teams)) return []
  return file.teams.flatMap((team, index) => {
    const table = isFields(team) ? team.scheduler_config : undefined
    const path = ['teams', index, 'scheduler_config', 'steps']
    return isFields(table) ? inList(table.steps, path) : []
  })
}

const callKeys = ['timeout_seconds', 'max_retries', 'fallback_agent_id']

/** What to do instead, by what the step is. */
const remedies: Readonly<Record<string, string>> = {
  parallel: 'put it into each of the steps inside',
  branch: 'put it into the steps of its cases',
  loop: 'put it into the steps inside',
  map: 'put it inside map, beside agent_id, or into its steps',
  approval: 'a person is asked, who has all the time there is; remove it',
}

function inList(steps: unknown, path: readonly PropertyKey[]): readonly Unplaced[] {
  if (!Array.isArray(steps)) return []
  return steps.flatMap((step, index) => (isFields(step) ? inStep(step, [...path, index]) : []))
}

function inStep(step: Fields, path: readonly PropertyKey[]): readonly Unplaced[] {
  const kind = stepKinds.find((key) => step[key] !== undefined)
  if (kind === undefined || kind === 'agent_id') return []
  const own = callKeys
    .filter((key) => step[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      message: `${key} beside ${kind} does nothing: ${remedies[kind]}`,
    }))
  const content = step[kind]
  if (kind === 'parallel') return [...own, ...inList(content, [...path, kind])]
  const tables = Array.isArray(content)
    ? content.map((inner, index) => ({ inner, at: [...path, kind, index, 'steps'] }))
    : [{ inner: content, at: [...path, kind, 'steps'] }]
  const below = tables.flatMap(({ inner, at }) => (isFields(inner) ? inList(inner.steps, at) : []))
  return [...own, ...below]
}
