/** A mistake that is built in on purpose, to see that it is found. */
export type Bug =
  /** Watchers are told by a statement of its own after the commit, which is lost now and then. */
  | 'notify-after-commit'
  /** A claim writes neither a record nor a version. */
  | 'claim-without-record'
  /** Steps begin whether or not the lease holds. */
  | 'no-step-guard'
  /** Whether there is work left is guessed from the task's state. */
  | 'work-from-state'
  /** Webhooks of a replica that died stay with it. */
  | 'deliveries-of-the-dead'
  /** Whoever claims takes tasks of any build. */
  | 'claim-any-build'
  /** Changes that wait for a task are forgotten when another replica claims it. */
  | 'changes-forgotten'
  /** The query for what the dead have left is compiled at each execution, which takes about a lease. */
  | 'expensive-claim'
  /** The heartbeat shares its connection with the look for the dead. */
  | 'beat-behind-look'
  /** A transaction is sent statement by statement, and waits without end for its client; no connection ends another's. */
  | 'transaction-without-deadline'
  /** An attempt to commit has no deadline of its own, and a replica that cannot write keeps its lease. */
  | 'commit-without-deadline'

export const bugs: readonly Bug[] = [
  'notify-after-commit',
  'claim-without-record',
  'no-step-guard',
  'work-from-state',
  'deliveries-of-the-dead',
  'claim-any-build',
  'changes-forgotten',
  'expensive-claim',
  'beat-behind-look',
  'transaction-without-deadline',
  'commit-without-deadline',
]
