import { describeRaces } from '../../test/replicas/races.ts'

/** `RACES=1000 npx vitest run --config vitest.slow.config.ts test-slow/replicas` for the long form. */
describeRaces(Number(process.env.RACES ?? 200))
