/**
 * How much a slow test does: `some` in every run, `all` with `THOROUGH=1 npm run test:slow`, which takes too long for
 * each change.
 */
export function thorough<T>(some: T, all: T): T {
  return process.env.THOROUGH ? all : some
}
