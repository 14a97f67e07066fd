import { describeRaces } from '../../test/replicas/races.ts'
import { thorough } from '../../test/support/thorough.ts'

describeRaces(thorough(200, 1_000))
