import type { CharacterSet } from './characters.ts'

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly parts: readonly PatternNode[] }
  | RepeatNode

/** A part that stands several times. */
export interface RepeatNode {
  readonly kind: 'repeat'
  readonly part: PatternNode
  readonly min: number
  /** Infinity where there is no end. */
  readonly max: number
  /** As few as possible come first. */
  readonly lazy: boolean
  /** Where it stands in the pattern. */
  readonly at: number
}

/** What must hold between two characters. */
export type Assertion = 'begin' | 'end' | 'lineBegin' | 'lineEnd' | 'word' | 'notWord'
