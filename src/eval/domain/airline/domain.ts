import type { Domain } from '../environment.ts'
import { defineDomain } from '../functions.ts'
import { airlinePolicy } from './policy.ts'
import { airlineState } from './state.ts'
import { airlineTasks } from './tasks.ts'
import { airlineModule } from './tools.ts'

/** The built-in domain: the service desk of Kestrel Air, twelve tools and twenty tasks, all invented here. */
export const airline: Domain = defineDomain({
  name: 'airline',
  policy: airlinePolicy,
  tasks: airlineTasks,
  splits: { base: airlineTasks.map(({ id }) => id) },
  state: airlineState,
  userState: null,
  module: airlineModule,
})
