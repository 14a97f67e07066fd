import { clientRoutingExtension } from '../../index.ts'

/** Somebody who answers in a project. */
export interface MemberForm {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly abilities: readonly string[]
  /** What its function does with `text`, offline: statements that return, or yield where it streams. */
  readonly code: readonly string[]
  readonly streams?: boolean
  /** What a model in its place is told. */
  readonly prompt: string
}

/** How the members of a project work together. */
export interface TeamForm {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly mode: Exclude<Choices['kind'], 'agent'>
}

/** What somebody wants to begin with. */
export interface Choices {
  readonly language: (typeof languages)[number]
  readonly kind: (typeof kinds)[number]
  /** The model that answers; functions do, offline, if absent. */
  readonly model?: string
}

/** What the test of a project sends, and what comes of it. */
export interface TestForm {
  readonly name: string
  readonly text: string
  /** What the functions answer. */
  readonly answer: string
  /** Who is asked, in this order. */
  readonly members: readonly string[]
  /** What the models of the test say, as code. */
  readonly script: readonly string[]
  readonly modelAnswer: string
  readonly modelMembers: readonly string[]
}

/** The text of each file, by its path. */
export type ProjectFiles = Readonly<Record<string, string>>

/** What a project can be of. */
export const kinds = ['workflow', 'supervisor', 'router', 'agent'] as const

/** In what a project can be written. */
export const languages = ['toml', 'ts'] as const

const greeter: MemberForm = {
  id: 'greeter',
  name: 'Greeter',
  description: 'Greets whoever writes',
  abilities: ['greeting'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code that is written into a file
  code: ['return `hello, you wrote: ${text}`'],
  prompt: 'Greet whoever writes, in one sentence.',
}

const editor: MemberForm = {
  id: 'editor',
  name: 'Editor',
  description: 'Gives a text its last form',
  abilities: ['editing'],
  streams: true,
  code: [
    '// What is yielded reaches the caller at once.',
    'yield text.trim().charAt(0).toUpperCase() + text.trim().slice(1)',
    "yield '.'",
  ],
  prompt: 'Correct the text that you are given. Answer with nothing but the text.',
}

const billing: MemberForm = {
  id: 'billing',
  name: 'Billing',
  description: 'Answers questions about bills',
  abilities: ['bills'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code that is written into a file
  code: ['return `Billing has read: ${text}`'],
  prompt: 'You answer questions about bills.',
}

const shipping: MemberForm = {
  id: 'shipping',
  name: 'Shipping',
  description: 'Knows where parcels are',
  abilities: ['parcels'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code that is written into a file
  code: ['return `Shipping has read: ${text}`'],
  prompt: 'You find parcels.',
}

const lead: MemberForm = {
  id: 'lead',
  name: 'Lead',
  description: 'Asks the colleague whom a message concerns',
  abilities: ['coordination'],
  code: [
    '// The team adds who its members are, and later what they answered.',
    "const [words = ''] = text.split('<team>')",
    "const [, answer] = words.split('answered:\\n')",
    'if (answer !== undefined) return answer.trim()',
    "const agent_id = /bill|pay/i.test(words) ? 'billing' : 'shipping'",
    'return JSON.stringify({ delegate: { agent_id, message: words.trim() } })',
  ],
  prompt: 'You lead the team of a shop. Ask the colleague whom a message concerns, then answer.',
}

const desk: MemberForm = {
  id: 'desk',
  name: 'Desk',
  description: 'Hands a message over to the colleague whom it concerns',
  // By this the team knows that it decides who goes on.
  abilities: [clientRoutingExtension],
  code: [
    "const agent_id = /bill|pay/i.test(text) ? 'billing' : 'shipping'",
    'return JSON.stringify({ delegate: { agent_id, message: text } })',
  ],
  prompt: 'You are the front desk of a shop. Hand every message over to whom it concerns.',
}

const question = 'Where is my bill?'

/** A project of one kind, before it is written in a language. */
export interface ProjectForm {
  readonly members: readonly [MemberForm, ...MemberForm[]]
  /** Absent where one agent answers alone. */
  readonly team?: TeamForm
  readonly test: TestForm
}

/** What each kind of project is made of. */
export const forms: Readonly<Record<Choices['kind'], ProjectForm>> = {
  workflow: {
    members: [greeter, editor],
    team: {
      id: 'front-desk',
      name: 'Front Desk',
      description: 'Greets in well-formed sentences',
      mode: 'workflow',
    },
    test: {
      name: 'greets in a well-formed sentence',
      text: 'good morning',
      answer: 'Hello, you wrote: good morning.',
      members: ['greeter', 'editor'],
      script: ["'hello you'", "'Hello, you.'"],
      modelAnswer: 'Hello, you.',
      modelMembers: ['greeter', 'editor'],
    },
  },
  supervisor: {
    members: [lead, billing, shipping],
    team: {
      id: 'shop',
      name: 'Shop',
      description: 'Answers the customers of a shop',
      mode: 'supervisor',
    },
    test: {
      name: 'asks billing about bills',
      text: question,
      answer: `Billing has read: ${question}`,
      members: ['lead', 'billing', 'lead'],
      script: [
        "{ tools: [{ name: 'delegate_to_billing', arguments: { message: 'the bill' } }] }",
        "'It was sent on Monday.'",
        "'Your bill was sent on Monday.'",
      ],
      modelAnswer: 'Your bill was sent on Monday.',
      modelMembers: ['lead', 'billing'],
    },
  },
  router: {
    members: [desk, billing, shipping],
    team: {
      id: 'shop',
      name: 'Shop',
      description: 'Answers the customers of a shop',
      mode: 'router',
    },
    test: {
      name: 'hands questions about bills over to billing',
      text: question,
      answer: `Billing has read: ${question}`,
      members: ['desk', 'billing'],
      script: [
        "{ tools: [{ name: 'transfer_to_billing', arguments: {} }] }",
        "'It was sent on Monday.'",
      ],
      modelAnswer: 'It was sent on Monday.',
      modelMembers: ['desk', 'billing'],
    },
  },
  agent: {
    members: [greeter],
    test: {
      name: 'greets whoever writes',
      text: 'good morning',
      answer: 'hello, you wrote: good morning',
      members: [],
      script: ["'Good morning to you.'"],
      modelAnswer: 'Good morning to you.',
      modelMembers: [],
    },
  },
}
