/** A judge by one rule; a model with a system prompt would do as well. */
export default ({ parts }) =>
  parts.some(({ text = '' }) => text.includes('idiot')) ? 'block: be polite' : 'allow'
