/**
 * As much of PostgreSQL's protocol (version 3, without TLS) as tells which statement runs on a connection and when it is
 * over. A message is a letter, its length in four bytes, which count themselves, and a body; the first one of a client
 * has no letter.
 */

/** One message, as it stands on the wire. */
export interface WireMessage {
  /** Its letter; empty for the first message of a client. */
  readonly type: string
  readonly bytes: Buffer
}

/** Cuts what comes in pieces into messages. */
export function createSplitter(isClient: boolean): (piece: Buffer) => readonly WireMessage[] {
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = isClient
  return (piece) => {
    rest = Buffer.concat([rest, piece])
    const messages: WireMessage[] = []
    for (;;) {
      const head = isFirst ? 0 : 1
      if (rest.length < head + 4) return messages
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) return messages
      const type = isFirst ? '' : rest.toString('latin1', 0, 1)
      messages.push({ type, bytes: rest.subarray(0, length) })
      rest = rest.subarray(length)
      isFirst = false
    }
  }
}

/** Follows what a client sends and tells the text of the statement that a message runs. */
export function createStatements(): (message: WireMessage) => string | undefined {
  const prepared = new Map<string, string>()
  return ({ type, bytes }) => {
    if (type === 'Q') return textAt(bytes, 5)
    if (type === 'P') {
      const name = textAt(bytes, 5)
      prepared.set(name, textAt(bytes, 5 + Buffer.byteLength(name) + 1))
    }
    if (type !== 'B') return undefined
    const portal = textAt(bytes, 5)
    return prepared.get(textAt(bytes, 5 + Buffer.byteLength(portal) + 1))
  }
}

/** A statement on one connection and its answer. */
export interface Exchange {
  /** The name of the prepared statement, or the first words of its text; `connect` for the beginning of the connection. */
  readonly name: string
  /** Its place on the connection. */
  readonly number: number
}

/** Follows one connection and says which exchange each message belongs to. A notice is an exchange of its own. */
export interface Exchanges {
  ofRequest(message: WireMessage): Exchange
  ofAnswer(message: WireMessage): Exchange
}

/** Follows a connection from its beginning. */
export function createExchanges(): Exchanges {
  let current: Exchange = { name: 'connect', number: 0 }
  let number = 0
  let notices = 0
  const unanswered = [current]
  return {
    ofRequest(message) {
      const name = exchangeName(message) ?? current.name
      current = { name, number }
      if (message.type === 'S' || message.type === 'Q') unanswered.push(current)
      // The messages up to a Sync, or one Query, are answered together.
      if (message.type === 'S' || message.type === 'Q' || message.type === '') number += 1
      return current
    },
    ofAnswer({ type }) {
      if (type === 'A') return { name: 'notice', number: -++notices }
      const exchange = unanswered[0] ?? { name: 'unasked', number: 0 }
      if (type === 'Z') unanswered.shift()
      return exchange
    },
  }
}

function exchangeName({ type, bytes }: WireMessage): string | undefined {
  if (type === 'Q') return firstWords(textAt(bytes, 5))
  if (type === 'X') return 'farewell'
  if (type !== 'P' && type !== 'B') return undefined
  const first = textAt(bytes, 5)
  const second = textAt(bytes, 5 + Buffer.byteLength(first) + 1)
  if (type === 'B') return second || undefined
  return first || firstWords(second)
}

/** Words with a digit are names of one test's own. */
function firstWords(text: string): string {
  return (text.match(/\b[A-Za-z]\w*/g) ?? [])
    .filter((word) => !/\d/.test(word))
    .slice(0, 6)
    .join(' ')
}

/** Whether a server says that the statement is over and no transaction is open. */
export function isOver({ type, bytes }: WireMessage): boolean {
  return type === 'Z' && bytes.toString('latin1', 5, 6) === 'I'
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start))
}
