import type { ListOwnKeysDeps } from '../../../account/keys/list-own-keys.ts'
import type { OfferedModelsDeps } from '../../../account/models/offered-models.ts'
import type { OperationDeps } from '../../../account/operations.ts'
import type { OverviewDeps } from '../../../account/overview.ts'
import type { PeopleDeps } from '../../../account/people/people-deps.ts'
import { type Trail, trailOf } from '../../../account/trail/trail.ts'
import type { UsageOverviewDeps } from '../../../account/usage/usage-overview.ts'
import type { AskingPerson } from './ask.ts'

/** All that the use cases behind the console ask for, but for the hand of whoever acts. */
export interface ConsoleHouse
  extends Omit<OperationDeps, 'trail'>,
    ListOwnKeysDeps,
    OfferedModelsDeps,
    OverviewDeps,
    UsageOverviewDeps {
  readonly db: OperationDeps['db']
  readonly clock: OperationDeps['clock']
  readonly ledger: OperationDeps['ledger'] & ListOwnKeysDeps['ledger'] & OverviewDeps['ledger']
  readonly catalog: OperationDeps['catalog']
  readonly health: OperationDeps['health'] & OfferedModelsDeps['health']
  readonly people: PeopleDeps
  readonly version: string
  /** What clients put in as base URL, seen from where the browser is. */
  readonly baseUrl: (origin: string) => string
}

/** The house in the hand of somebody: what they do with it stands in the trail as theirs. */
export const inHandOf = ({ session }: AskingPerson, house: ConsoleHouse): ConsoleHouse & { readonly trail: Trail } => ({
  ...house,
  trail: trailOf(house.people.audit, session.person.email),
})
