/** The tools of the lending desk, and those of the member's own app. State is changed in place. */
const member = { member_id: { type: 'string', description: 'Member id, such as m1' } }
const book = { book_id: { type: 'string', description: 'Book id, such as b1' } }

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) })

function find(table, id) {
  if (!Object.hasOwn(table, id)) throw new Error(`Nothing is known of ${id}`)
  return table[id]
}

export const tools = {
  find_book: {
    kind: 'read',
    description: 'Find books by a part of their title.',
    parameters: object({ title: { type: 'string', description: 'A part of the title' } }),
    run: ({ title }, { agent }) =>
      Object.entries(agent.books)
        .filter(([, found]) => found.title.toLowerCase().includes(title.toLowerCase()))
        .map(([book_id, found]) => ({ book_id, ...found })),
  },
  lend_book: {
    description: 'Lend a book to a member.',
    parameters: object({ ...member, ...book }),
    run({ member_id, book_id }, { agent }) {
      const [who, what] = [find(agent.members, member_id), find(agent.books, book_id)]
      if (who.locked) throw new Error('The card is locked')
      if (what.lent_to) throw new Error('The book is on loan')
      Object.assign(what, { lent_to: member_id, due: '2026-04-15' })
      who.loans.push(book_id)
      return { due: what.due }
    },
  },
  reserve_book: {
    description: 'Reserve a book that is on loan.',
    parameters: object({ ...member, ...book }),
    run({ member_id, book_id }, { agent }) {
      const what = find(agent.books, book_id)
      what.reserved_by.push(member_id)
      return { place: what.reserved_by.length, due: what.due }
    },
  },
}

/** What the member can do in their own app. */
export const userTools = {
  unlock_card: {
    description: 'Unlock your library card.',
    parameters: object({}),
    run(_, { user }) {
      user.app.card_locked = false
      return 'Your card is unlocked'
    },
  },
}

/** Functions that tasks use to set up and to check; the agent never sees them. */
export const functions = {
  lock_card: (_, { user }) => {
    user.app.card_locked = true
  },
  is_lent_to: ({ book_id, member_id }, { agent }) => agent.books[book_id].lent_to === member_id,
}

/** The desk sees at once what the member does in the app. */
export function sync({ agent, user }) {
  agent.members.m1.locked = user.app.card_locked
}
