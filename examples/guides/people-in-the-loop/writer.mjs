import { textOf } from 'corral'

/** Writes news, and calmer ones where it is told how. */
export default ({ parts }) => `News: ${textOf(parts)}!`
