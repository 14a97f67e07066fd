/**
 * Chooses specialists by the words of the question, and gives the user what they answered. The team tells it who its
 * members are in a block of text after the question; it delegates by answering with JSON.
 */

const specialists = [
  { id: 'coding-specialist', words: /\b(code|bug|implement)/i },
  { id: 'documentation-specialist', words: /\b(document|write|explain)/i },
  { id: 'testing-specialist', words: /\b(test|verify|quality)/i },
]

export default function supervise(message) {
  const texts = message.parts
    .map((part) => part.text ?? '')
    .filter((text) => !text.includes('<team>'))
  const answers = answersIn(texts)
  if (answers.length > 0) return answers.join('\n')
  const question = texts.join('')
  const wanted = specialists.filter(({ words }) => words.test(question))
  const chosen = wanted.length > 0 ? wanted : specialists.slice(0, 1)
  return JSON.stringify({
    delegate: chosen.map(({ id }) => ({ agent_id: id, message: question })),
  })
}

/** The team puts "<id> answered:" before each answer. */
function answersIn(texts) {
  return texts.filter((_, i) => / answered:\n$/.test(texts[i - 1] ?? ''))
}
