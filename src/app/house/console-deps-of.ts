import { fileURLToPath } from 'node:url'
import { playgroundKey } from '../../account/keys/playground-key.ts'
import type { OperationDeps } from '../../account/operations.ts'
import { lastUsedOf } from '../../content/read-usage.ts'
import type { ConsoleHouse } from '../../http/console/api/console-house.ts'
import { createConsoleApi } from '../../http/console/api/create-console-api.ts'
import type { ConsoleDeps } from '../../http/console/console-deps.ts'
import { loadConsoleFiles } from '../../http/console/console-files.ts'
import type { RateRule } from '../../lib/gcra.ts'
import { wholeSeconds } from '../../lib/whole-seconds.ts'
import { createAddressRates } from '../../limits/address-rates.ts'
import type { AccountId } from '../../model/ids.ts'
import { listAccountIds } from '../../store/accounts.ts'
import type { ServerFacts } from './house.ts'
import type { Parts } from './parts.ts'

/** Whoever clicks and polls as fast as a page can stays far below; whoever scrapes or guesses does not. */
const ASKED_OF_ADDRESS: RateRule = { perMinute: 1200, burst: 300 }

/** What the console needs of the house behind it; undefined where the operator has switched it off. */
export async function consoleDepsOf(parts: Parts, house: ConsoleHouse): Promise<ConsoleDeps | undefined> {
  const { config, clock, people, db, random } = parts
  if (!config.console.enabled) return undefined
  const askers = createAddressRates({ ticks: () => clock.ticks(), rule: () => ASKED_OF_ADDRESS })
  const { hosts, allowHttp } = config.console
  return {
    site: { publicUrl: config.server.publicUrl, hosts, allowHttp },
    files: await loadConsoleFiles(CONSOLE_FOLDER),
    api: createConsoleApi(house),
    findSession: (secret) => people.sessions.find(secret),
    countAsker(address) {
      const taken = askers.take(address)
      return taken.kind === 'taken' ? undefined : wholeSeconds(taken.waitMs)
    },
    // Who pays does not wait behind those who look.
    findPlayer: ({ row }, kind) => playgroundKey({ db, clock, random }, row, kind),
  }
}

/** What the use cases behind the console ask for, beside those of the command line. */
export const consoleHouseOf = (
  { config, content, usage, refusedTurns, log }: Parts,
  operations: Omit<OperationDeps, 'status'> & ServerFacts,
): ConsoleHouse => ({
  ...operations,
  content,
  usage,
  refusedTurns,
  // Nobody loses a new secret for what is only told beside it.
  async lastUsed(account, keys) {
    try {
      const [owner] = await listAccountIds(operations.db, [account])
      return owner === undefined ? new Map() : await lastUsedOf(content, owner.id as AccountId, keys)
    } catch (error) {
      log.error({ error }, 'when keys were used last could not be read')
      return new Map()
    }
  },
  baseUrl: (origin) => `${config.server.publicUrl ?? origin}/v1`,
})

/** Where the build puts it, seen from the sources and from `dist` alike. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../../dist/console', import.meta.url))
