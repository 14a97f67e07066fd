/**
 * Imported by tests that start a program or open a database by way of what they test, where no other import says so: see
 * `tiers.ts`.
 */
export {}
