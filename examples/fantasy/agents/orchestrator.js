/** Plans a story: finds the subject in the request and chooses everything else by it, always in the same way. */

const heroes = ['Ilvane', 'Torrin', 'Mirel', 'Osric', 'Sefa', 'Bryn']
const callings = ['mapmaker', 'bell founder', 'beekeeper', 'ferryman', 'lamplighter', 'scribe']
const places = [
  'the salt towers of Ankarun',
  'the floating orchards of Vey',
  'the drowned city of Lissom',
  'the glass hills beyond Orrery',
  'the harbour where winter is kept',
]
const wants = [
  'the last true map of the stars',
  'a song that nobody living remembers',
  'the key to a door without a house',
  'the name of the river under the mountain',
]
const prices = ['a year of memories', 'the colour of their eyes', 'their shadow', 'their own name']

/** The default export is the agent: a function of the message. */
export default function plan(message, turn) {
  const subject = subjectOf(message.parts.map((part) => part.text ?? '').join(' '))
  const pick = picker(subject)
  const story = {
    subject,
    hero: pick(heroes),
    calling: pick(callings),
    place: pick(places),
    want: pick(wants),
    price: pick(prices),
  }
  const words = `A story about ${subject}: ${story.hero} the ${story.calling} seeks ${story.want}.`
  return turn.reply([{ text: words }, { data: story, mediaType: 'application/json' }])
}

/** What follows "about" and its like; else the request without its first words. */
function subjectOf(text) {
  const request = text.replace(/\s+/g, ' ').trim()
  const about = /\b(?:about|featuring|concerning|regarding|involving)\s+(.+)$/i.exec(request)?.[1]
  const rest =
    about ?? request.replace(/^(?:please\s+)?(?:write|tell|compose|create)\b\s*(?:me\s+)?/i, '')
  const subject = rest.replace(/[\s.!?]+$/, '').slice(0, 120)
  return subject || 'a story that nobody asked for'
}

/** Chooses from lists by the subject's letters: the same subject gives the same story. */
function picker(subject) {
  let state = 7
  for (const char of subject) state = (state * 31 + char.codePointAt(0)) % 1_000_003
  return (list) => {
    state = (state * 48_271 + 11) % 1_000_003
    return list[state % list.length]
  }
}
