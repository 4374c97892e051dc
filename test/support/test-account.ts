import type { CreatedKey } from '../../src/admin/keys.ts'
import type { OperationArgs } from '../../src/admin/operations.ts'
import { findAccountById } from '../../src/db/accounts.ts'
import type { ReceiptsTable } from '../../src/db/tables.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { parseUsd } from '../../src/model/money.ts'
import type { TestServer } from './start-server.ts'

type KeyChange = Partial<Omit<OperationArgs<'keys.create'>, 'account'>>

export interface TestAccount {
  readonly id: string
  readonly email: string
  /** A wallet key without bounds of its own. */
  readonly key: string
  createKey(changeRequest?: KeyChange): Promise<CreatedKey>
  credit(amount: string): Promise<void>
  wallet(): Promise<{ balance: bigint; held: bigint; available: bigint }>
  /** As the books have them, oldest first. */
  receipts(): Promise<ReceiptsTable[]>
}

let opened = 0

/** An account with money in the wallet and a key to spend it. */
export async function openAccount(server: TestServer, options: { credit?: string } = {}): Promise<TestAccount> {
  const { credit = '10.00' } = options
  opened += 1
  const { id, email } = await server.operate('accounts.create', { email: `person-${opened}@example.com` })
  const createKey = (changeRequest: KeyChange = {}) =>
    server.operate('keys.create', { account: id, kind: 'wallet', name: 'walk', ...changeRequest })
  let credits = 0
  const account = {
    id,
    email,
    createKey,
    async credit(amount: string) {
      credits += 1
      await server.operate('wallet.credit', { account: id, amount, reason: 'walk', ref: `credit-${credits}` })
    },
    async wallet() {
      const { balance, held, available } = await server.operate('wallet.show', { account: id })
      return { balance: nanoOf(balance), held: nanoOf(held), available: nanoOf(available) }
    },
    receipts: () => receiptsOf(server, id),
  }
  if (credit !== '0') await account.credit(credit)
  return { ...account, key: (await createKey()).key }
}

/** The number of an account in the books, for the questions of a test. */
export async function rowOf({ app }: Pick<TestServer, 'app'>, id: string): Promise<AccountRow> {
  const account = await findAccountById(app.operations.db, id)
  if (account === undefined) throw new Error(`there is no account ${id}`)
  return account.row as AccountRow
}

/** Exact money out of the decimal string that the API says. */
export function nanoOf(usd: string): bigint {
  const nano = parseUsd(usd)
  if (nano === undefined) throw new Error(`${usd} is not an amount of money`)
  return nano
}

const receiptsOf = ({ app }: TestServer, account: string): Promise<ReceiptsTable[]> =>
  app.operations.db
    .selectFrom('receipts')
    .innerJoin('accounts', 'accounts.row', 'receipts.account')
    .selectAll('receipts')
    .where('accounts.id', '=', account)
    .orderBy('receipts.row')
    .execute()
