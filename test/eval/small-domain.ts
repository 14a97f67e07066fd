import type { Domain, EvalTask } from '../../src/eval/domain/domain.ts'
import { defineDomain } from '../../src/eval/domain/functions.ts'

interface Shelf {
  books: string[]
}

/** A domain small enough to see through: a shelf of books, and users who say one thing and then listen. */
export function smallDomain(tasks: readonly EvalTask[] = [addTask()]): Domain {
  return defineDomain<Shelf, null>({
    name: 'shelf',
    policy: 'Only add books that the user names.',
    tasks,
    state: { books: ['Emma'] },
    userState: null,
    module: {
      tools: {
        add_book: {
          description: 'Put a book on the shelf',
          parameters: {
            type: 'object',
            properties: { title: { type: 'string' } },
            required: ['title'],
          },
          run({ title }, { agent }) {
            if (agent.books.includes(String(title))) throw new Error('It is there already')
            agent.books.push(String(title))
            return { count: agent.books.length }
          },
        },
        list_books: {
          description: 'All titles',
          parameters: { type: 'object' },
          kind: 'read',
          run: (_, { agent }) => [...agent.books],
        },
      },
      functions: {
        has_book: ({ title }, { agent }) => agent.books.includes(String(title)),
        burn: (_, { agent }) => {
          agent.books = []
        },
      },
    },
  })
}

/** A task that is solved by adding "Ulysses" and telling that two are there. */
export function addTask(over: Partial<EvalTask> = {}): EvalTask {
  return {
    id: 'add-ulysses',
    user_scenario: { instructions: 'You want Ulysses on the shelf.' },
    evaluation_criteria: {
      actions: [{ name: 'add_book', arguments: { title: 'Ulysses' } }],
      communicate_info: ['2'],
      reward_basis: ['DB', 'COMMUNICATE'],
    },
    user_script: {
      opening: 'Please add Ulysses.',
      replies: [{ when: 'added|sorry', say: 'Thanks.', stop: true }],
    },
    ...over,
  }
}
