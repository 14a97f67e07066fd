import { textOf } from 'corral'

export default ({ parts }) => `Booked: ${textOf(parts)}`
