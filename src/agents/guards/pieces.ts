import type { Artifact, Part } from '../../protocol/types.ts'
import type { GuardCheck } from './check.ts'

/**
 * What guards leave of the pieces of one answer, such as its artifacts. They are looked at together; what a guard puts
 * in their place stands in the first, and the others are gone.
 * @throws ContentBlocked
 */
export async function checkPieces(
  check: GuardCheck,
  pieces: readonly (readonly Part[])[],
): Promise<readonly (readonly Part[] | undefined)[]> {
  const given = pieces.flat()
  const left = await check.parts(given, 'answer')
  if (left === given) return pieces
  if (left.length !== given.length) return [left]
  let from = 0
  return pieces.map(({ length }) => {
    from += length
    return left.slice(from - length, from)
  })
}

/** An artifact with what guards have left of its parts; its names and notes are looked at here. @throws ContentBlocked */
export function checkArtifact(
  check: GuardCheck,
  artifact: Artifact,
  parts: readonly Part[],
): Artifact {
  const { name, description, metadata } = artifact
  return {
    ...artifact,
    parts,
    ...(name !== undefined && { name: check.words(name) }),
    ...(description !== undefined && { description: check.words(description) }),
    ...(metadata && { metadata: check.notes(metadata) }),
  }
}
