import { playgroundKey } from '../account/keys/playground-key.ts'
import type { ConsoleDeps } from '../http/console/console-deps.ts'
import { loadConsoleFiles } from '../http/console/console-files.ts'
import { consoleHandlers } from '../http/console-api/console-handlers.ts'
import type { ConsoleHouse } from '../http/console-api/console-house.ts'
import { createConsoleApi } from '../http/console-api/create-console-api.ts'
import type { RateRule } from '../lib/gcra.ts'
import { createAddressRates } from '../limits/address-rates.ts'
import { CONSOLE_FOLDER } from './console-folder.ts'
import type { ServingParts } from './serving-parts.ts'

/** Whoever clicks and polls as fast as a page can stays far below; whoever scrapes or guesses does not. */
const ASKED_OF_ADDRESS: RateRule = { perMinute: 1200, burst: 300 }

/** What the console needs of the house behind it; undefined where the operator has switched it off. */
export async function consoleDepsOf(parts: ServingParts, house: ConsoleHouse): Promise<ConsoleDeps | undefined> {
  const { config, clock, people, db, random } = parts
  if (!config.console.enabled) return undefined
  const askers = createAddressRates({ ticks: () => clock.ticks(), rule: () => ASKED_OF_ADDRESS })
  const { hosts, allowHttp } = config.console
  return {
    site: { publicUrl: config.server.publicUrl, hosts, allowHttp },
    files: await loadConsoleFiles(CONSOLE_FOLDER),
    api: createConsoleApi({ now: () => clock.now() }, consoleHandlers(house)),
    findSession: (secret) => people.sessions.find(secret),
    slowAskers(address) {
      const taken = askers.take(address)
      return taken.kind === 'taken' ? undefined : Math.ceil(taken.waitMs / 1000)
    },
    // Who pays does not wait behind those who look.
    findPlayer: ({ row }, kind) => playgroundKey({ db, clock, random }, row, kind),
  }
}
