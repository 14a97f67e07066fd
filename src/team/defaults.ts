/** What holds where the configuration of a team does not say. */
export const teamDefaults = {
  /** Rounds of delegation of a supervisor. */
  maxRounds: 10,
  /** RANCH's number of hops of a router. */
  maxRoutingHops: 10,
  /** Teams that a message may have passed. */
  maxDepth: 16,
  /** Items of a map at once. */
  maxParallel: 8,
  /** How often what the user says to an approval is taken as feedback. */
  maxFeedbackRounds: 5,
  /** Further tries of a delegation: agents retry their own connections. */
  maxRetries: 0,
} as const
