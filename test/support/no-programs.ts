/**
 * In quick tests no program is started, not even by the code under test. A test that needs one belongs into a file that
 * imports `node:child_process`, or what does, and is no longer a quick one then.
 */
import { ChildProcess } from 'node:child_process'

Object.assign(ChildProcess.prototype, {
  spawn() {
    throw new Error('A quick test starts a process; tests that do import node:child_process')
  },
})
