import type { DatabaseType } from './state/base.ts'
import type { Self, Toolkit } from './toolkit.ts'

/** One half of a kind of domain: its tools, the type of its data, and the file that holds it. */
interface HalfKind {
  readonly toolkit: Toolkit
  readonly database: DatabaseType
  readonly file: string
}

/** A kind of tau2 domain: everything but the data. */
export interface DomainKind {
  readonly name: string
  /** Where its data lies, below `tau2/domains`. */
  readonly folder: string
  readonly policy: { readonly files: readonly string[]; compose(texts: readonly string[]): string }
  readonly agent: HalfKind
  readonly user?: HalfKind
  /** Brings the two halves in line with each other. */
  readonly sync?: (agent: Self, user: Self) => void
}

/** A policy that is one file. */
export const plainPolicy: DomainKind['policy'] = {
  files: ['policy.md'],
  compose: ([text = '']) => text,
}
