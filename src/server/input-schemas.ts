import type { z } from 'zod'
import { A2AError } from '../protocol/errors.ts'
import type { SkillDetail } from '../protocol/profile.ts'
import type { DataPart, Part } from '../protocol/types.ts'

/** Refuses input that fits no skill; undefined where there is nothing to check. Rejects with A2AError `invalidParams`. */
type InputCheck = (parts: readonly Part[]) => Promise<void> | undefined

/**
 * Checks structured input against the skills' schemas. A message of nothing but data is the input of a skill and
 * must fit one of them; where words stand beside the data, or a skill has no schema, anything goes.
 * The skills may change while the server runs; their schemas are compiled once for each list of skills, by a library
 * that is loaded when the first such message comes.
 */
export function createInputCheck(skillsNow: () => readonly SkillDetail[] | undefined): InputCheck {
  const compiled = new WeakMap<readonly SkillDetail[], Promise<readonly z.ZodType[]>>()
  return (parts) => {
    const skills = skillsNow()
    if (!skills?.length || !parts.every(isData)) return undefined
    if (skills.some(({ inputSchema }) => !inputSchema)) return undefined
    const schemas = compiled.get(skills) ?? compileAll(skills)
    compiled.set(skills, schemas)
    return mustFit(parts, schemas)
  }
}

async function mustFit(
  parts: readonly DataPart[],
  compiled: Promise<readonly z.ZodType[]>,
): Promise<void> {
  const schemas = await compiled
  for (const [index, { data }] of parts.entries()) {
    const failures = schemas.flatMap((schema) => schema.safeParse(data).error ?? [])
    if (schemas.length > 0 && failures.length === schemas.length) throw refusal(index, failures[0])
  }
}

/** The schemas of all skills; none where one cannot be understood, since it may take anything. */
async function compileAll(skills: readonly SkillDetail[]): Promise<readonly z.ZodType[]> {
  const zod = await import('zod')
  try {
    return skills.map(({ inputSchema = {} }) =>
      // A skill's schema is JSON Schema by contract; zod's own type of it is only narrower in words.
      zod.z.fromJSONSchema(inputSchema as Parameters<typeof zod.z.fromJSONSchema>[0]),
    )
  } catch {
    return []
  }
}

function isData(part: Part): part is DataPart {
  return 'data' in part
}

function refusal(index: number, error: z.ZodError | undefined): A2AError {
  const issue = error?.issues[0]
  const field = [
    'message.parts',
    `[${index}].data`,
    ...(issue?.path ?? []).map((key) => `.${String(key)}`),
  ].join('')
  const description = issue?.message ?? 'does not fit'
  return new A2AError('invalidParams', `${field}: ${description}`, {
    violations: [{ field, description }],
  })
}
