import type { OperationDeps } from '../account/operations.ts'
import { lastUsedOf } from '../content/read-usage.ts'
import type { ConsoleHouse } from '../http/console-api/console-house.ts'
import type { ServerFacts } from './house.ts'
import type { ServingParts } from './serving-parts.ts'

/** What the use cases behind the console ask for, beside those of the command line. */
export const consoleHouseOf = (
  { config, content, usage, refusedTurns, log }: ServingParts,
  operations: Omit<OperationDeps, 'status'> & ServerFacts,
): ConsoleHouse => ({
  ...operations,
  content,
  usage,
  refusedTurns,
  // Nobody loses a new secret for what is only told beside it.
  lastUsed: (account, keys) =>
    lastUsedOf(content, account, keys).catch((error: unknown) => {
      log.error({ error }, 'when keys were used last could not be read')
      return new Map()
    }),
  baseUrl: (origin) => `${config.server.publicUrl ?? origin}/v1`,
})
