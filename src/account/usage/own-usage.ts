import { forgetUsage, listCountedUpTo } from '../../content/usage-totals.ts'
import type { AccountId } from '../../model/ids.ts'
import { listAccountIds, listAccountRows } from '../../store/accounts.ts'
import { ACCOUNTS_AT_ONCE, type CountUsageDeps, listForeignUsage } from './count-usage.ts'

type InTurn = <Result>(part: () => Promise<Result>) => Promise<Result>

/** Remembers of which accounts it is known that what was counted is of these books. */
export interface OwnUsage {
  /** Looks at those that nobody has looked at yet, and forgets what is foreign. Before anything of them is counted or read. */
  make(accounts: readonly number[]): Promise<void>
  /**
   * Goes through the accounts that were counted, and forgets what is counted of accounts that the ledger has not. `inTurn` is asked for each part of it, so that nobody waits for the whole.
   */
  makeAll(inTurn: InTurn): Promise<void>
}

export function createOwnUsage(deps: CountUsageDeps): OwnUsage {
  const known = new Set<number>()
  let allKnown = false

  /** Returns those that are foreign. */
  const look = async (accounts: readonly number[]): Promise<readonly number[]> => {
    const unknown = accounts.filter((account) => !known.has(account))
    if (allKnown || unknown.length === 0) return []
    const foreign = await listForeignUsage(deps, unknown)
    for (const account of unknown) if (!foreign.includes(account)) known.add(account)
    return foreign
  }
  const make = async (accounts: readonly number[]): Promise<void> => {
    for (const account of await look(accounts)) {
      const [found] = await listAccountIds(deps.db, [account])
      if (found !== undefined) await forgetUsage(deps.content, found.id as AccountId)
      known.add(account)
    }
  }
  return {
    make,
    async makeAll(inTurn) {
      for (let after = 0; ; ) {
        const counted = await inTurn(() => listCountedUpTo(deps.content, { after, limit: ACCOUNTS_AT_ONCE }))
        const ids = counted.map(({ account }) => account)
        const there = await listAccountRows(deps.db, ids)
        const known = new Set(there.map(({ id }) => id))
        for (const id of ids) if (!known.has(id)) await inTurn(() => forgetUsage(deps.content, id))
        const foreign = await inTurn(() => look(there.map(({ row }) => row)))
        // Looked at again in its turn: whoever asked for it meanwhile has had it forgotten, and counted anew.
        for (const account of foreign) await inTurn(() => make([account]))
        if (counted.length < ACCOUNTS_AT_ONCE) break
        after = counted.at(-1)!.owner
      }
      allKnown = true
      known.clear()
    },
  }
}
