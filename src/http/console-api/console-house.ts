import type { CreateCodesDeps } from '../../account/create-codes.ts'
import type { ListOwnKeysDeps } from '../../account/list-own-keys.ts'
import type { OfferedModelsDeps } from '../../account/offered-models.ts'
import type { OperationDeps } from '../../account/operations.ts'
import type { OverviewDeps } from '../../account/overview.ts'
import type { PeopleDeps } from '../../account/people-deps.ts'
import type { RedeemCodeDeps } from '../../account/redeem-code.ts'
import type { UsageOverviewDeps } from '../../account/usage-overview.ts'

/** All that the use cases behind the console ask for. */
export interface ConsoleHouse
  extends OperationDeps,
    ListOwnKeysDeps,
    OfferedModelsDeps,
    OverviewDeps,
    UsageOverviewDeps,
    CreateCodesDeps,
    RedeemCodeDeps {
  readonly db: OperationDeps['db']
  readonly clock: OperationDeps['clock']
  readonly ledger: OperationDeps['ledger'] &
    ListOwnKeysDeps['ledger'] &
    OverviewDeps['ledger'] &
    RedeemCodeDeps['ledger']
  readonly catalog: OperationDeps['catalog']
  readonly health: OperationDeps['health'] & OfferedModelsDeps['health']
  readonly people: PeopleDeps
  readonly version: string
  /** What clients put in as base URL, seen from where the browser is. */
  readonly baseUrl: (origin: string) => string
}
