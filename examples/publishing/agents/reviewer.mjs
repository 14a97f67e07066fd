/** Says as JSON how good a notice is, why, and how much harm it could do. */

export default function review(message) {
  const text = message.parts.map((part) => part.text ?? '').join('')
  const isLoud = text.includes('!')
  const score = isLoud ? 0.5 : 0.9
  const reason = isLoud ? 'too loud' : 'calm'
  return JSON.stringify({ score, reason, risk: text.includes('price') ? 'high' : 'low' })
}
