import { z } from 'zod'
import type { Guards } from '../../agents/guards/guard.ts'

const text = { type: 'string', minLength: 1 } as const
const action = { type: 'string', enum: ['block', 'replace'] } as const
const count = { type: ['integer', 'string'], minimum: 0 } as const

function table(properties: Readonly<Record<string, object>>, required: readonly string[]): object {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** What an editor may offer; what stands there is checked by the rules that hold in code too. */
const rule = z.unknown().meta({
  id: 'guard',
  anyOf: [
    { type: 'string', enum: ['secrets', 'email'] },
    table({ use: { const: 'length' }, max: count, min: count, action }, ['use']),
    table({ use: { const: 'json-schema' }, schema: { type: ['object', 'string'] } }, [
      'use',
      'schema',
    ]),
    table({ use: { const: 'pattern' }, deny: text, action }, ['use', 'deny']),
    table({ use: { const: 'pattern' }, require: text }, ['use', 'require']),
    table({ use: { enum: ['secrets', 'email'] }, action }, ['use']),
    table({ member: { ...text, description: 'An agent that is asked for the verdict' } }, [
      'member',
    ]),
    table({ module: { ...text, description: 'A file; its default export is the guard' } }, [
      'module',
    ]),
  ],
})

/** `[agents.guards]`, `[teams.guards]` and `guards` of a step: what looks at messages and answers. */
export const guardsSchema: z.ZodType<Guards> = z
  .strictObject({
    input: z.array(rule).optional().describe('Look at messages before the agent does, in order'),
    output: z.array(rule).optional().describe('Look at answers before the caller does, in order'),
  })
  .transform((guards) => guards as Guards) // read where an agent or team is planned
