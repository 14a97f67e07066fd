/**
 * The A2A 1.0 data model as plain JSON, exactly as it travels (specification §4, `a2a.proto`). Field names, enum
 * strings and order are the specification's. Every other wire is translated to and from these types at the edge
 * (`bindings/dialects`).
 */
export type * from './types/cards.ts'
export type * from './types/json.ts'
export type * from './types/requests.ts'
export type * from './types/security.ts'
export type * from './types/tasks.ts'
