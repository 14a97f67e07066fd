export type {
  ConsoleHost,
  ConsoleSettings,
  CreateConsole,
  ReceivedDelivery,
  ServerConsole,
  ShownAgent,
  StoredListener,
} from '../server/console.ts'
export { type ConsoleOptions, createConsole } from './console.ts'
export type { RelayOptions } from './relay.ts'
