import type { Tree } from './tree.ts'

/**
 * Numbers and codes of documents that a reader of the source does not have. A comment says the rule itself, or names
 * the section of a published specification (`A2A §3.3.4`).
 */
const codes: readonly RegExp[] = [
  /(?<![\w.'"-]|\d[ ,])00[0-4](?:'s)?(?![\w.'"-])/,
  /\b[Ss]00\d-\d+/,
  /\b[CRTAW]-W?\d{1,2}\b/,
  /\bAT-\d+\b/,
  /\bseed-checklist\b/,
  /\b[Ss]eeds?'s?(?!\w)/,
  /\bof the seeds?\b|\bthe seeds\b|\bas the seed (?:says|does)\b|\bseed 00\d\b|\ba bare seed\b/,
]

/** Provenance codes in comments and texts. */
export function checkProvenance(tree: Tree): string[] {
  return [...tree.values()].flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const found = codes.map((code) => code.exec(line)?.[0]).find((one) => one !== undefined)
      return found === undefined
        ? []
        : [`${path}:${index + 1}: says "${found}"; say the rule itself`]
    }),
  )
}
