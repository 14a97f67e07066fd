/**
 * Tests that do not run with `REPLICAS`, by file and name, with the reason. A name that no test of the file has fails
 * the file's tests.
 */
export const leftOut: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'at-02.test.ts': {
    '5.1 seconds are a task, which goes on and can be asked for':
      'time passes by a clock of its own, which does not wait for a database',
    'a task that waits for a free place is queued, word for word as in 004':
      'each process has slots of its own, and time passes by a clock of its own',
  },
  'at-04.test.ts': { 'a team reaches all five of them': 'each process has slots of its own' },
  'at-17.test.ts': {
    'tasks/get gives {"result": task}, of a store of one\'s own': 'brings a store of its own',
  },
  'faults-002.test.ts': {
    'A-W11: memory is bounded': 'brings a store of its own',
    "A-W11: a store of one's own is used": 'brings a store of its own',
  },
}
