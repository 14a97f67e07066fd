import { describeRaces } from '../../test/replicas/races.ts'

describeRaces(1_000)
