/**
 * Put the console on a server of your own: a page that shows teams at work, the tasks that wait for you, and every hop
 * of every task.
 *
 * @module corral/console
 */

export { type ConsoleOptions, createConsole } from './console.ts'
