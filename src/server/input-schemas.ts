import { z } from 'zod'
import { A2AError } from '../protocol/errors.ts'
import type { SkillDetail } from '../protocol/profile.ts'
import type { DataPart, JsonObject, Part } from '../protocol/types.ts'

/** Refuses input that fits no skill. @throws A2AError `invalidParams` that names the part. */
export type InputCheck = (parts: readonly Part[]) => void

/**
 * Checks structured input against the skills' schemas (C-10). A message of nothing but data is the input of a skill and
 * must fit one of them; where words stand beside the data, or a skill has no schema, anything goes.
 * The skills may change while the server runs; their schemas are compiled when they have.
 */
export function createInputCheck(skillsNow: () => readonly SkillDetail[] | undefined): InputCheck {
  let skills: readonly SkillDetail[] | undefined
  let schemas: readonly z.ZodType[] = []
  return (parts) => {
    const current = skillsNow()
    if (current !== skills) schemas = compileAll(current ?? [])
    skills = current
    if (schemas.length > 0 && parts.every(isData)) mustFit(parts, schemas)
  }
}

function mustFit(parts: readonly DataPart[], schemas: readonly z.ZodType[]): void {
  for (const [index, { data }] of parts.entries()) {
    const failures = schemas.flatMap((schema) => schema.safeParse(data).error ?? [])
    if (failures.length === schemas.length) throw refusal(index, failures[0])
  }
}

/** The schemas of all skills; none where a skill takes anything. */
function compileAll(skills: readonly SkillDetail[]): readonly z.ZodType[] {
  const schemas = skills.flatMap(({ inputSchema }) => (inputSchema ? compile(inputSchema) : []))
  return schemas.length === skills.length ? schemas : []
}

function isData(part: Part): part is DataPart {
  return 'data' in part
}

/** A schema that cannot be understood refuses nothing. */
function compile(schema: JsonObject): readonly z.ZodType[] {
  try {
    // A skill's schema is JSON Schema by contract; zod's own type of it is only narrower in words.
    return [z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])]
  } catch {
    return []
  }
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
