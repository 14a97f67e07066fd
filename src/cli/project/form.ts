/** What a project can be of. */
export const kinds = ['workflow', 'supervisor', 'router', 'agent'] as const

/** In what a project can be written. */
export const languages = ['toml', 'ts'] as const

/** What somebody wants to begin with. */
export interface Choices {
  readonly language: (typeof languages)[number]
  readonly kind: (typeof kinds)[number]
  /** The model that answers; functions do, offline, if absent. */
  readonly model?: string
}

/** Somebody who answers in a project. */
export interface MemberForm {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly abilities: readonly string[]
  /** What its function does with `text`, offline: statements that return, or yield where it streams. */
  readonly code: readonly string[]
  readonly streams?: boolean
  /** What a model in its place is told. */
  readonly prompt: string
}

/** How the members of a project work together. */
export interface TeamForm {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly mode: Exclude<Choices['kind'], 'agent'>
}

/** What the test of a project sends, and what comes of it. */
export interface TestForm {
  readonly name: string
  readonly text: string
  /** What the functions answer. */
  readonly answer: string
  /** Who is asked, in this order. */
  readonly members: readonly string[]
  /** What the models of the test say, as code. */
  readonly script: readonly string[]
  readonly modelAnswer: string
  readonly modelMembers: readonly string[]
}

/** A project of one kind, before it is written in a language. */
export interface ProjectForm {
  readonly members: readonly [MemberForm, ...MemberForm[]]
  /** Absent where one agent answers alone. */
  readonly team?: TeamForm
  readonly test: TestForm
}

/** The text of each file, by its path. */
export type ProjectFiles = Readonly<Record<string, string>>
