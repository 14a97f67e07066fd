import { textOf } from 'corral'

export default ({ parts }) => `Noted: ${textOf(parts)}`
