import { redeemCode } from '../../../account/codes/redeem-code.ts'
import { done } from '../../../account/outcome.ts'
import { exportStatement } from '../../../account/wallet/export-statement.ts'
import { walletStanding } from '../../../account/wallet/wallet-standing.ts'
import { walletStatement } from '../../../account/wallet/wallet-statement.ts'
import { askForFunds } from '../../../account/wallet/wishes.ts'
import type { Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'

/** What an owner's wallet holds, what moved it, and how something comes into it. */
export const walletHandlers = (house: ConsoleHouse) =>
  ({
    'GET /wallet': async (asking) => done(await walletStanding(house, asking.account.row)),
    'GET /wallet/statement': (asking, { query }) => walletStatement(house, asking.account.row, query),
    async 'GET /wallet/statement.csv'(asking, { query }) {
      const pieces = await exportStatement(house, asking.account.row, query)
      return pieces.kind === 'refused' ? pieces : { kind: 'file', name: 'millrace-statement.csv', pieces: pieces.value }
    },
    'POST /wallet/redeem': (asking, { body }) => redeemCode(inHandOf(asking, house), asking.account.row, body),
    async 'POST /wallet/ask'(asking, { body }) {
      const { row } = asking.account
      const asked = await askForFunds(inHandOf(asking, house), row, body)
      return asked.kind === 'refused' ? asked : done(await walletStanding(house, row))
    },
  }) satisfies Partial<Handlers>
