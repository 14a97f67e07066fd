/** A writer that repeats what it was asked, secrets and all. */
export default ({ parts }) => `You asked: ${parts.map(({ text = '' }) => text).join('')}`
