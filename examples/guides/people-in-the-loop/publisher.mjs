import { textOf } from 'corral'

/** Publishes what was approved. */
export default ({ parts }) => `Published. ${textOf(parts)}`
